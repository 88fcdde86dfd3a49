import assert from "node:assert/strict";
import { test } from "node:test";
import { EXIT_INTEGRITY, Failure } from "../failure.ts";
import { CallsOut } from "../protocols/spacetimedb.ts";
import { Transfer } from "../protocols/spacetimedb/module_bindings/transfer_reducer.ts";
import { BinaryReader, BinaryWriter } from "@clockworklabs/spacetimedb-sdk";

const committed = { tag: "Committed" as const, value: { tables: [] } };
const failed = (value: string) => ({ tag: "Failed", value }) as const;
const integrity = (words: RegExp) => (error: unknown) =>
  error instanceof Failure && error.exitCode === EXIT_INTEGRITY && words.test(error.message);

test("the status decides, and an answer belongs to the oldest call", async () => {
  const calls = new CallsOut();
  const outcomes = Promise.all([1, 2, 3, 4].map((amount) => calls.add({ source: 5, destination: 6, amount })));
  calls.answer(committed, 5, 6, 1);
  calls.answer(failed("insufficient"), 5, 6, 2);
  calls.answer(failed("insufficient funds"), 5, 6, 3);
  calls.answer({ tag: "OutOfEnergy" }, 5, 6, 4);
  assert.deepEqual(
    (await outcomes).map(({ verdict, text }) => [verdict, text]),
    [
      ["acknowledged", ""],
      ["insufficient", ""],
      ["error", "insufficient funds"],
      ["error", "out of energy"],
    ],
  );
});

test("an answer that fits no call ends the client", () => {
  const calls = new CallsOut();
  assert.throws(() => calls.answer(committed, 1, 2, 3), integrity(/transfer\(1, 2, 3\) where none was due/));
  void calls.add({ source: 1, destination: 2, amount: 3 });
  assert.throws(() => calls.answer(committed, 2, 1, 3), integrity(/where transfer\(1, 2, 3\) was due/));
});

test("the arguments are three little-endian 32-bit numbers", () => {
  const writer = new BinaryWriter(16);
  Transfer.serialize(writer, { from: 1, to: 2, amount: 0xfffffffe });
  const bytes = writer.getBuffer();
  assert.deepEqual([...bytes], [1, 0, 0, 0, 2, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
  assert.deepEqual(Transfer.deserialize(new BinaryReader(bytes)), { from: 1, to: 2, amount: 0xfffffffe });
});
