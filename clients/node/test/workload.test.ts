import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { EXIT_CONFIGURATION, EXIT_INTEGRITY, Failure } from "../failure.ts";
import { Fields } from "../fields.ts";
import { philox4x32 } from "../philox.ts";
import { createWorkload, workloadNames } from "../workload.ts";
import { vectors } from "./golden.ts";

const golden = vectors();
const create = (workload: object) => createWorkload(new Fields(workload, "workload"));

test("every workload has golden vectors", () => {
  assert.deepEqual([...new Set(golden.map(({ workload }) => workload.name))].sort(), workloadNames);
});

for (const { name, workload, connection, first_index, operations } of golden) {
  test(`the operations of ${workload.name}, ${name}, are drawn`, async () => {
    const { kinds, draw } = await create(workload);
    const drawn = operations.map((_, place) => {
      const { kind, fields } = draw(connection, first_index + place);
      assert.deepEqual(Object.keys(fields), Object.keys(kinds[kind]!));
      return [kind, ...Object.values(fields)];
    });
    assert.deepEqual(drawn, operations);
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

const refusal = (exitCode: number, words: RegExp) => (error: unknown) =>
  error instanceof Failure && error.exitCode === exitCode && words.test(error.message);

test("a table that is not the promised one is refused", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "alias-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "alias.bin");
  const createOf = (bytes: Buffer, file: object = {}, parameters: object = {}) => {
    writeFileSync(path, bytes);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return create({
      name: "transfer",
      seed: 1,
      parameters: { accounts: 2, alpha: 0, amount_max: 10, ...parameters },
      files: { alias_table: { path, sha256, ...file } },
    });
  };
  const table = Buffer.alloc(32);
  table.write("GAPALIAS");
  table.writeUInt32LE(1, 8);
  table.writeUInt32LE(2, 12);
  await createOf(table);

  await assert.rejects(createOf(table, { sha256: "0".repeat(64) }), refusal(EXIT_INTEGRITY, /sha256/));
  await assert.rejects(createOf(table, {}, { accounts: 3 }), refusal(EXIT_INTEGRITY, /for 2 accounts, not 3/));
  await assert.rejects(createOf(table, { path: "absent" }), refusal(EXIT_CONFIGURATION, /^workload.files: /));
  await assert.rejects(createOf(table.subarray(0, 24)), refusal(EXIT_INTEGRITY, /24 bytes/));
  table.writeUInt32LE(2, 20);
  await assert.rejects(createOf(table), refusal(EXIT_INTEGRITY, /leads to account 2/));
});
