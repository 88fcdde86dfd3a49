import assert from "node:assert/strict";
import { test } from "node:test";
import SQLite from "better-sqlite3";
import { requestsOf } from "../../shared/node/operation.ts";
import * as chat from "../chat/operations.ts";
import * as countersAndMessages from "../counter-and-messages/operations.ts";
import * as transfers from "../transfer/operations.ts";

const INITIAL = 100;
type Workload = typeof chat | typeof countersAndMessages | typeof transfers;

/** What a server answers at an access level. */
async function served({ levels, parsers }: Workload, level: string, database: SQLite.Database) {
  const load = levels[level];
  assert.ok(load, `there is no level ${level}`);
  return requestsOf(parsers, (await load())(database));
}

/** A bank of two accounts after a transfer of 30: what it answered, what the accounts hold, what was changed. */
async function transferred(level: string): Promise<{ outcome: unknown; balances: unknown[]; changes: unknown }> {
  const database = new SQLite(":memory:");
  try {
    database.exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
    database.prepare("INSERT INTO accounts VALUES (0, ?), (1, ?)").run(INITIAL, INITIAL);
    const counter = database.prepare("SELECT total_changes()").pluck();
    const before = Number(counter.get());
    const { transfer } = await served(transfers, level, database);
    assert.ok(transfer);
    const outcome = transfer('{"from":0,"to":1,"amount":30}')();
    assert.equal(database.inTransaction, false);
    return {
      outcome,
      balances: database.prepare("SELECT balance FROM accounts ORDER BY id").pluck().all(),
      changes: Number(counter.get()) - before,
    };
  } finally {
    database.close();
  }
}

for (const level of ["drizzle", "sql"]) {
  test(`${level} moves the amount with two updates`, async () => {
    assert.deepEqual(await transferred(level), { outcome: "done", balances: [70, 130], changes: 2 });
  });
}

test("drizzle-unexecuted says done and changes nothing", async () => {
  assert.deepEqual(await transferred("drizzle-unexecuted"), { outcome: "done", balances: [INITIAL, INITIAL], changes: 0 });
});

test("an increment and a message are written, and a message twice is not", async (context) => {
  const database = new SQLite(":memory:");
  context.after(() => database.close());
  database.exec(
    "CREATE TABLE counters (id INTEGER PRIMARY KEY, value INTEGER);" +
      'CREATE TABLE messages (connection INTEGER, "index" INTEGER, body TEXT, PRIMARY KEY (connection, "index"));' +
      "INSERT INTO counters VALUES (0, 0)",
  );
  const { increment, message } = await served(countersAndMessages, "sql", database);
  assert.ok(increment && message);
  assert.equal(increment('{"counter":0,"amount":1}')(), "done");
  assert.throws(increment('{"counter":1,"amount":1}'), /counter 1 does not exist/);
  const send = message('{"connection":3,"index":9007199254740991,"body":"abc"}');
  assert.equal(send(), "done");
  assert.throws(send, /UNIQUE/);
  assert.deepEqual(database.prepare("SELECT * FROM counters").raw().all(), [[0, 1]]);
  assert.deepEqual(database.prepare("SELECT * FROM messages").raw().all(), [[3, Number.MAX_SAFE_INTEGER, "abc"]]);
});

for (const level of ["sql", "drizzle"]) {
  test(`${level} stores the messages of members, and finds a message by its id`, async (context) => {
    const database = new SQLite(":memory:");
    context.after(() => database.close());
    database.exec(
      "CREATE TABLE members (room INTEGER, member INTEGER, PRIMARY KEY (room, member));" +
        'CREATE TABLE messages (id INTEGER PRIMARY KEY, room INTEGER, connection INTEGER, "index" INTEGER, body TEXT);' +
        "INSERT INTO members VALUES (7, 1), (8, 2)",
    );
    const { post, read } = await served(chat, level, database);
    assert.ok(post && read);
    assert.equal(post('{"room":7,"connection":3,"index":9007199254740991,"body":"abc"}')(), "done");
    assert.equal(post('{"room":8,"connection":3,"index":1,"body":"abc"}')(), "forbidden");
    assert.equal(read('{"id":1}')(), "done");
    assert.throws(read('{"id":2}'), /message 2 does not exist/);
    assert.deepEqual(database.prepare("SELECT * FROM messages").raw().all(), [[1, 7, 3, Number.MAX_SAFE_INTEGER, "abc"]]);
  });
}
