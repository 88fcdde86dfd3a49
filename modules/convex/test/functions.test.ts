// The functions of each workload, run by their makers' own stand-in for a server: no container is needed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeFunctionReference } from "convex/server";
import { convexTest } from "convex-test";
import tables from "../counter-and-messages/convex/schema.ts";
import bank from "../transfer/convex/schema.ts";

const NONE = async () => ({});
const BANK = {
  "../transfer/convex/_generated/api.js": NONE,
  "../transfer/convex/transfer.ts": () => import("../transfer/convex/transfer.ts"),
  "../transfer/convex/state.ts": () => import("../transfer/convex/state.ts"),
};
const TABLES = {
  "../counter-and-messages/convex/_generated/api.js": NONE,
  "../counter-and-messages/convex/writes.ts": () => import("../counter-and-messages/convex/writes.ts"),
  "../counter-and-messages/convex/actions.ts": () => import("../counter-and-messages/convex/actions.ts"),
  "../counter-and-messages/convex/http.ts": () => import("../counter-and-messages/convex/http.ts"),
  "../counter-and-messages/convex/state.ts": () => import("../counter-and-messages/convex/state.ts"),
};
const mutation = (name: string) => makeFunctionReference<"mutation">(name);
const FILL = mutation("state:fill");
const PAGE = makeFunctionReference<"query">("state:page");
const WHOLE = { numItems: 1000, cursor: null };

async function seededBank() {
  const server = convexTest(bank, BANK);
  const rows = [0, 1, 2].map((id) => ({ id, balance: 100 }));
  await server.mutation(FILL, { table: "accounts", rows });
  const balances = async () => {
    const { page } = await server.query(PAGE, { table: "accounts", paginationOpts: WHOLE });
    return page.map(({ id, balance }: { id: number; balance: number }) => [id, balance]);
  };
  const transfer = (from: number, to: number, amount: number) =>
    server.mutation(mutation("transfer:transfer"), { from, to, amount });
  return { balances, transfer };
}

async function seededTables() {
  const server = convexTest(tables, TABLES);
  await server.mutation(FILL, { table: "counters", rows: [0, 1].map((id) => ({ id, value: 0 })) });
  const rowsOf = async (table: string, columns: string[]) => {
    const { page } = await server.query(PAGE, { table, paginationOpts: WHOLE });
    return page.map((row: Record<string, unknown>) => columns.map((column) => row[column]));
  };
  return { server, rowsOf };
}

test("a transfer moves its amount, or says that there is too little", async () => {
  const { balances, transfer } = await seededBank();
  assert.equal(await transfer(0, 1, 100), "done");
  assert.equal(await transfer(0, 1, 1), "insufficient");
  assert.deepEqual(await balances(), [
    [0, 0],
    [1, 200],
    [2, 100],
  ]);
});

test("what is no transfer is an error and changes nothing", async () => {
  const { balances, transfer } = await seededBank();
  const before = await balances();
  await assert.rejects(transfer(2, 2, 1), /two accounts, not 2 and 2/);
  await assert.rejects(transfer(0, 1, 0), /amount must be at least 1/);
  await assert.rejects(transfer(0, 3, 1), /account 3 does not exist/);
  await assert.rejects(transfer(3, 0, 1000), /account 3 does not exist/);
  assert.deepEqual(await balances(), before);
});

test("counters and messages are written once each", async () => {
  const { server, rowsOf } = await seededTables();
  await server.mutation(mutation("writes:increment"), { counter: 1, amount: 1 });
  await server.mutation(mutation("writes:message"), { connection: 3, index: 2 ** 53 - 1, body: 'a "b", c' });
  await assert.rejects(
    server.mutation(mutation("writes:message"), { connection: 3, index: 2 ** 53 - 1, body: "d" }),
    /is stored already/,
  );
  await assert.rejects(
    server.mutation(mutation("writes:increment"), { counter: 2, amount: 1 }),
    /counter 2 does not exist/,
  );
  assert.deepEqual(await rowsOf("counters", ["id", "value"]), [
    [0, 0],
    [1, 1],
  ]);
  assert.deepEqual(await rowsOf("messages", ["connection", "index", "body"]), [[3, 2 ** 53 - 1, 'a "b", c']]);
});

test("routes do the same through actions", async () => {
  const { server, rowsOf } = await seededTables();
  const post = async (path: string, body: unknown) => {
    const answer = await server.fetch(path, { method: "POST", body: JSON.stringify(body) });
    return { status: answer.status, said: await answer.json() };
  };
  const incremented = await post("/increment", { counter: 0, amount: 1 });
  assert.deepEqual([incremented.status, incremented.said.success], [200, true]);
  const stored = await post("/message", { connection: 0, index: 5, body: "abc" });
  assert.deepEqual([stored.status, stored.said.success], [200, true]);
  const refused = await post("/increment", { counter: 9, amount: 1 });
  assert.deepEqual([refused.status, refused.said.success], [500, false]);
  assert.match(refused.said.error, /counter 9 does not exist/);
  assert.deepEqual(await rowsOf("counters", ["id", "value"]), [
    [0, 1],
    [1, 0],
  ]);
  assert.deepEqual(await rowsOf("messages", ["connection", "index"]), [[0, 5]]);
});
