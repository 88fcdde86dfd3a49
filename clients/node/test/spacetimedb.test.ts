import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { EXIT_INTEGRITY, Failure } from "../failure.ts";
import { pickedVersion } from "../protocols/spacetimedb/negotiation.ts";
import { CallsOut } from "../protocols/spacetimedb/v1.ts";
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
  const login = { uri, database: "bank", token: "secret", confirmed: false, reducer: "transfer", amount: "u32" } as const;
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
