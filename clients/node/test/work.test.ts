import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT_CONFIGURATION, EXIT_INTEGRITY, Failure } from "../failure.ts";
import { philox4x32 } from "../philox.ts";
import { Work } from "../work.ts";

const golden = join(import.meta.dirname, "../../../workloads/transfer/golden");
const vectors = readdirSync(golden).filter((name) => name.endsWith(".json"));

test("there are golden vectors", () => assert.ok(vectors.length >= 4));

for (const name of vectors) {
  test(`the operations of ${name} are drawn`, () => {
    const vector = JSON.parse(readFileSync(join(golden, name), "utf8"));
    const { parameters, files } = vector;
    const work = new Work({
      seed: vector.seed,
      accounts: parameters.accounts,
      amountMax: parameters.amount_max,
      redraw: parameters.redraw,
      aliasTable: join(golden, files.alias_table.path),
      aliasTableSha256: files.alias_table.sha256,
    });
    const drawn = vector.operations.map((_: unknown, place: number) => {
      const { source, destination, amount } = work.draw(vector.connection, vector.first_index + place);
      return ["transfer", source, destination, amount];
    });
    assert.deepEqual(drawn, vector.operations);
  });
}

type Words4 = [number, number, number, number];

// Known answers published with the generator's reference implementation (Random123).
const knownAnswers: [Words4, [number, number], Words4][] = [
  [[0, 0, 0, 0], [0, 0], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]],
  [
    [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
    [0xffffffff, 0xffffffff],
    [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  ],
  [
    [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
    [0xa4093822, 0x299f31d0],
    [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  ],
];
for (const [counter, key, expected] of knownAnswers) {
  test(`Philox gives the known answer for the counter ${counter[0].toString(16)}...`, () => {
    const block = new Uint32Array(4);
    philox4x32(block, ...counter, ...key);
    assert.deepEqual([...block], expected);
  });
}

test("a table that is not the promised one is refused", (context) => {
  const directory = mkdtempSync(join(tmpdir(), "alias-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const aliasTable = join(directory, "alias.bin");
  const workload = (bytes: Buffer) => {
    writeFileSync(aliasTable, bytes);
    const aliasTableSha256 = createHash("sha256").update(bytes).digest("hex");
    return { seed: 1, accounts: 2, amountMax: 10, redraw: "both" as const, aliasTable, aliasTableSha256 };
  };
  const table = Buffer.alloc(32);
  table.write("GAPALIAS");
  table.writeUInt32LE(1, 8);
  table.writeUInt32LE(2, 12);
  const good = workload(table);
  assert.doesNotThrow(() => new Work(good));

  const refusal = (exitCode: number, words: RegExp) => (error: unknown) =>
    error instanceof Failure && error.exitCode === exitCode && words.test(error.message);
  assert.throws(() => new Work({ ...good, aliasTableSha256: "0".repeat(64) }), refusal(EXIT_INTEGRITY, /sha256/));
  assert.throws(() => new Work({ ...good, accounts: 3 }), refusal(EXIT_INTEGRITY, /for 2 accounts, not 3/));
  assert.throws(() => new Work({ ...good, aliasTable: "absent" }), refusal(EXIT_CONFIGURATION, /^workload.alias_table/));
  assert.throws(() => new Work(workload(table.subarray(0, 24))), refusal(EXIT_INTEGRITY, /24 bytes/));
  table.writeUInt32LE(2, 20);
  assert.throws(() => new Work(workload(table)), refusal(EXIT_INTEGRITY, /leads to account 2/));
});
