import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import Database from "better-sqlite3";
import { parseConfig } from "../config.ts";
import { ACKNOWLEDGED, errorOutcome, refusedAs } from "../protocol.ts";
import { vector } from "./golden.ts";
import { attemptedInTime, configuration, load, transfers } from "./run.ts";

/** As many as the golden vector draws from. */
const ACCOUNTS = 1000;
const WINDOW_S = 2.4;

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

/** The one driver of a database in a mode, opened. */
async function opened(path: string, mode: string, { workload } = transfers) {
  const endpoint = { protocol: "sqlite", path, synchronous: "OFF", mode };
  const { target } = await parseConfig(JSON.stringify(configuration(endpoint, { workload })));
  const driver = target.createDriver(() => {});
  await driver.open();
  return (kind: string, fields: Record<string, number | string>) => driver.send({ kind, fields }, () => {});
}

for (const name of ["sql", "drizzle"]) {
  test(`${name}: a transfer moves the amount or nothing`, async (context) => {
    const { path, database, balances } = createBank(context, 3, 100);
    const send = await opened(path, name);
    const transfer = (from: number, to: number, amount: number) => send("transfer", { from, to, amount });
    assert.equal(await transfer(0, 2, 100), ACKNOWLEDGED);
    assert.deepEqual(balances(), [0, 100, 200]);
    assert.deepEqual(await transfer(0, 1, 1), refusedAs("insufficient"));
    assert.deepEqual(await transfer(1, 3, 1), errorOutcome("account 3 does not exist"));
    assert.deepEqual(await transfer(3, 1, 1), errorOutcome("account 3 does not exist"));
    assert.deepEqual(balances(), [0, 100, 200]);
    // Nobody holds the write lock: no transaction was left open.
    database.exec("BEGIN IMMEDIATE; ROLLBACK");
  });

  test(`${name}: connections take turns, and what is acknowledged is in the file`, async (context) => {
    const { path, balances } = createBank(context, ACCOUNTS, 10_000);
    const endpoint = { protocol: "sqlite", path, synchronous: "OFF", mode: name };
    const { report, events } = await load(configuration(endpoint, { connections: 3, window_s: WINDOW_S }));
    assert.equal(report.acknowledged + report.failed.insufficient, report.attempted);
    const issued = report.connections.map((connection: { issued: number }) => connection.issued);
    assert.ok(Math.max(...issued) - Math.min(...issued) <= 1, `${issued}`);
    assert.ok(report.window.mean_in_flight > 0.1 && report.window.mean_in_flight <= 1);
    assert.ok(report.drained_s < 1, `${report.drained_s} s`);
    assert.equal(report.engine.synchronous, "0");
    assert.equal(balances().reduce((sum, balance) => sum + balance), 10_000 * ACCOUNTS);
    assert.ok(balances().some((balance) => balance !== 10_000));
    // The engine leaves the thread to the clock: progress of the first second comes within the load.
    const [progress] = events.filter(({ event }) => event === "progress");
    assert.ok(progress.elapsed_s > 0.9 && progress.elapsed_s < WINDOW_S, `${progress.elapsed_s} s`);
  });
}

test("an increment and a message are rows, once each", async (context) => {
  const { path, database } = createBank(context, 0, 0);
  database.exec(
    "CREATE TABLE counters (id INTEGER PRIMARY KEY, value INTEGER NOT NULL);" +
      'CREATE TABLE messages (connection INTEGER, "index" INTEGER, body TEXT, PRIMARY KEY (connection, "index"));' +
      "INSERT INTO counters VALUES (0, 0), (1, 0)",
  );
  const send = await opened(path, "sql", vector("counter-and-messages", "default"));
  const increment = (counter: number) => send("increment", { counter, amount: 1 });
  const message = () => send("message", { connection: 7, index: 2 ** 53 - 1, body: "abc" });
  assert.deepEqual([await increment(1), await increment(1), await message()], [ACKNOWLEDGED, ACKNOWLEDGED, ACKNOWLEDGED]);
  assert.deepEqual(await increment(2), errorOutcome("counter 2 does not exist"));
  assert.match((await message()).text, /UNIQUE constraint failed/);
  assert.deepEqual(database.prepare("SELECT value FROM counters ORDER BY id").pluck().all(), [0, 2]);
  assert.deepEqual(database.prepare("SELECT * FROM messages").raw().all(), [[7, 2 ** 53 - 1, "abc"]]);
});

test("the open loop offers its rate to an engine in this process", async (context) => {
  const { path } = createBank(context, ACCOUNTS, 10_000);
  const endpoint = { protocol: "sqlite", path, synchronous: "OFF" };
  const loop = { kind: "open", rate_per_s: 100 };
  const attempted = await attemptedInTime(configuration(endpoint, { connections: 4, loop }), 70, 2);
  assert.ok(Math.abs(attempted - 70) <= 2, `${attempted} attempted`);
});
