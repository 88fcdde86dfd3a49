import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import Database from "better-sqlite3";
import { ACKNOWLEDGED, refusedAs } from "../protocol.ts";
import { sqlCounterAndMessages } from "../protocols/sqlite/counter_and_messages.ts";
import { drizzleTransfer } from "../protocols/sqlite/drizzle.ts";
import { sqlTransfer } from "../protocols/sqlite/sql.ts";
import { configuration, load } from "./run.ts";

/** As many as the golden vector draws from. */
const ACCOUNTS = 1000;

function createBank(context: TestContext, accounts: number, balance: number) {
  const directory = mkdtempSync(join(tmpdir(), "bank-"));
  const path = join(directory, "bank.sqlite");
  const database = new Database(path);
  context.after(() => {
    database.close();
    rmSync(directory, { recursive: true });
  });
  database.pragma("journal_mode = wal");
  database.exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
  const insert = database.prepare("INSERT INTO accounts VALUES (?, ?)");
  database.transaction(() => {
    for (let id = 0; id < accounts; id++) insert.run(id, balance);
  })();
  const balances = () => database.prepare("SELECT balance FROM accounts ORDER BY id").pluck().all() as number[];
  return { path, database, balances };
}

for (const [name, mode] of Object.entries({ sql: sqlTransfer, drizzle: drizzleTransfer })) {
  test(`${name}: a transfer moves the amount or nothing`, (context) => {
    const { database, balances } = createBank(context, 3, 100);
    const call = mode(database);
    const transfer = (fields: object) => call({ kind: "transfer", fields: { ...fields } });
    assert.equal(transfer({ from: 0, to: 2, amount: 100 }), ACKNOWLEDGED);
    assert.deepEqual(balances(), [0, 100, 200]);
    assert.deepEqual(transfer({ from: 0, to: 1, amount: 1 }), refusedAs("insufficient"));
    assert.throws(() => transfer({ from: 1, to: 3, amount: 1 }), /account 3 does not exist/);
    assert.throws(() => transfer({ from: 3, to: 1, amount: 1 }), /account 3 does not exist/);
    assert.deepEqual(balances(), [0, 100, 200]);
    assert.equal(database.inTransaction, false);
  });

  test(`${name}: connections take turns, and what is acknowledged is in the file`, async (context) => {
    const { path, balances } = createBank(context, ACCOUNTS, 10_000);
    const endpoint = { protocol: "sqlite", path, synchronous: "OFF", mode: name };
    const { report, events } = await load(configuration(endpoint, { connections: 3, window_s: 1.2 }));
    assert.equal(report.acknowledged + report.failed.insufficient, report.attempted);
    const issued = report.connections.map((connection: { issued: number }) => connection.issued);
    assert.ok(Math.max(...issued) - Math.min(...issued) <= 1, `${issued}`);
    assert.ok(report.window.mean_in_flight > 0.1 && report.window.mean_in_flight <= 1);
    assert.ok(report.drained_s < 0.1, `${report.drained_s} s`);
    assert.equal(report.engine.synchronous, "0");
    assert.equal(balances().reduce((sum, balance) => sum + balance), 10_000 * ACCOUNTS);
    assert.ok(balances().some((balance) => balance !== 10_000));
    // The engine leaves the thread to the clock: progress of the first second comes within the load.
    const [progress] = events.filter(({ event }) => event === "progress");
    assert.ok(Math.abs(progress.elapsed_s - 1) < 0.1, `${progress.elapsed_s} s`);
  });
}

test("an increment and a message are rows, once each", (context) => {
  const { database } = createBank(context, 0, 0);
  database.exec(
    "CREATE TABLE counters (id INTEGER PRIMARY KEY, value INTEGER NOT NULL);" +
      'CREATE TABLE messages (connection INTEGER, "index" INTEGER, body TEXT, PRIMARY KEY (connection, "index"));' +
      "INSERT INTO counters VALUES (0, 0), (1, 0)",
  );
  const call = sqlCounterAndMessages(database);
  const increment = (counter: number) => call({ kind: "increment", fields: { counter, amount: 1 } });
  const message = { kind: "message", fields: { connection: 7, index: 2 ** 53 - 1, body: "abc" } };
  assert.deepEqual([increment(1), increment(1), call(message)], [ACKNOWLEDGED, ACKNOWLEDGED, ACKNOWLEDGED]);
  assert.throws(() => increment(2), /counter 2 does not exist/);
  assert.throws(() => call(message), /UNIQUE constraint failed/);
  assert.deepEqual(database.prepare("SELECT value FROM counters ORDER BY id").pluck().all(), [0, 2]);
  assert.deepEqual(database.prepare("SELECT * FROM messages").raw().all(), [[7, 2 ** 53 - 1, "abc"]]);
});

test("the open loop offers its rate to an engine in this process", async (context) => {
  const { path } = createBank(context, ACCOUNTS, 10_000);
  const endpoint = { protocol: "sqlite", path, synchronous: "OFF" };
  const loop = { kind: "open", rate_per_s: 100 };
  const { report } = await load(configuration(endpoint, { connections: 4, loop }));
  assert.ok(Math.abs(report.attempted - 70) <= 2, `${report.attempted} attempted`);
});
