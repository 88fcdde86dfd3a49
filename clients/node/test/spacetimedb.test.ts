import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { EXIT_INTEGRITY, Failure } from "../failure.ts";
import { createCalls, type ReducerCall } from "../protocols/spacetimedb/calls.ts";
import { pickedVersion } from "../protocols/spacetimedb/negotiation.ts";
import { argumentsType } from "../protocols/spacetimedb/module_bindings/index.ts";
import { CallsOut } from "../protocols/spacetimedb/v1.ts";
import { BinaryReader, BinaryWriter } from "@clockworklabs/spacetimedb-sdk";

const operations = {
  kinds: {
    transfer: { from: "u32", to: "u32", amount: "u32" },
    message: { connection: "u32", index: "u64", body: "text" },
  },
  refusals: ["insufficient"],
} as const;
const reducers = { transfer: "transfer", message: "send_message" };
const [transfer, message] = createCalls(reducers, operations, "u32") as [ReducerCall, ReducerCall];
const committed = { tag: "Committed" as const, value: { tables: [] } };
const failed = (value: string) => ({ tag: "Failed", value }) as const;
const integrity = (words: RegExp) => (error: unknown) =>
  error instanceof Failure && error.exitCode === EXIT_INTEGRITY && words.test(error.message);

test("the status decides, and an answer belongs to the oldest call", async () => {
  const calls = new CallsOut();
  const outcomes = Promise.all([
    ...[1, 2, 3].map((amount) => calls.add(transfer, { from: 5, to: 6, amount })),
    calls.add(message, { connection: 1, index: 2n, body: "abc" }),
    calls.add(message, null),
  ]);
  calls.answer(committed, "transfer", [5, 6, 1]);
  calls.answer(failed("insufficient"), "transfer", [5, 6, 2]);
  calls.answer(failed("insufficient funds"), "transfer", [5, 6, 3]);
  calls.answer({ tag: "OutOfEnergy" }, "send_message", [1, 2n, "abc"]);
  calls.answer(failed("no such reducer"), "send_message", []);
  assert.deepEqual(
    (await outcomes).map(({ refusal, text }) => [refusal, text]),
    [
      [null, ""],
      ["insufficient", ""],
      ["error", "insufficient funds"],
      ["error", "out of energy"],
      ["error", "no such reducer"],
    ],
  );
});

test("an answer that fits no call ends the client", () => {
  const calls = new CallsOut();
  const none = integrity(/transfer\(1, 2, 3\) where none was due/);
  assert.throws(() => calls.answer(committed, "transfer", [1, 2, 3]), none);
  void calls.add(transfer, { from: 1, to: 2, amount: 3 });
  const other = integrity(/transfer\(2, 1, 3\) where transfer\(1, 2, 3\) was due/);
  assert.throws(() => calls.answer(committed, "transfer", [2, 1, 3]), other);
  void calls.add(transfer, { from: 1, to: 2, amount: 3 });
  assert.throws(() => calls.answer(committed, "send_message", [1, 2, 3]), integrity(/send_message.* was due/));
});

test("a reducer is there if a call without arguments is refused for any other reason", () => {
  const refused = (text: string) => () => transfer.requireServed({ refusal: "error", text, retries: 0 });
  assert.doesNotThrow(refused("invalid arguments for reducer transfer"));
  assert.throws(refused("no such reducer"), /reducer transfer: no such reducer; publish the module/);
  assert.throws(() => transfer.requireServed({ refusal: null, text: "", retries: 0 }), /takes no arguments/);
});

test("the arguments are the fields in order, little-endian, in the types that are asked for", () => {
  const [signed] = createCalls(reducers, operations, "i64") as [ReducerCall];
  const amount = 0xfffffffe;
  for (const [call, fields, bytes] of [
    [transfer, { from: 1, to: 2, amount }, [1, 0, 0, 0, 2, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]],
    [signed, { from: 1, to: 2, amount }, [1, 0, 0, 0, 2, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0]],
    [message, { connection: 1, index: 2 ** 33, body: "az" }, [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 97, 122]],
  ] as const) {
    const type = argumentsType(call);
    const given = call.argumentsOf({ kind: call.kind, fields });
    const writer = new BinaryWriter(16);
    type.serialize(writer, given);
    assert.deepEqual([...writer.getBuffer()], bytes);
    assert.deepEqual(type.deserialize(new BinaryReader(writer.getBuffer())), given);
  }
});

/** What is found out at a server that answers every upgrade with the subprotocol, or refuses it where there is none. */
async function pickedOf(subprotocol: string | undefined, newest: "v1" | "v3"): Promise<[string, string]> {
  const server = createServer((_, answer) => answer.writeHead(400).end("no valid protocol selected"));
  let offered = "";
  if (subprotocol !== undefined) {
    server.on("upgrade", ({ headers }, socket) => {
      offered = headers["sec-websocket-protocol"] ?? "";
      socket.end(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
          `Sec-WebSocket-Protocol: ${subprotocol}\r\n\r\n`,
      );
    });
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const login = { uri, database: "bank", token: "secret", confirmed: false, calls: [] };
  try {
    return [await pickedVersion(login, newest), offered];
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("the server picks among the versions that are offered, the newest first", async () => {
  const all = "v3.bsatn.spacetimedb, v2.bsatn.spacetimedb, v1.bsatn.spacetimedb";
  assert.deepEqual(await pickedOf("v3.bsatn.spacetimedb", "v3"), ["v3", all]);
  assert.deepEqual(await pickedOf("v1.bsatn.spacetimedb", "v3"), ["v1", all]);
  assert.deepEqual(await pickedOf("v1.bsatn.spacetimedb", "v1"), ["v1", "v1.bsatn.spacetimedb"]);
});

test("a server that speaks none of them is refused in its own words", async () => {
  await assert.rejects(pickedOf("v3.bsatn.spacetimedb", "v1"), /picked the subprotocol "v3.bsatn.spacetimedb"; offered: v1/);
  await assert.rejects(pickedOf(undefined, "v3"), /no WebSocket: 400 Bad Request no valid protocol selected/);
});
