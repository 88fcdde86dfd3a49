import assert from "node:assert/strict";
import { test } from "node:test";
import SQLite from "better-sqlite3";
import { type Access, operations } from "../operations/index.ts";

const INITIAL = 100;

/** A bank of two accounts after a transfer of 30: what it answered, what the accounts hold, what was changed. */
function transferred(access: Access): { outcome: string; balances: unknown[]; changes: unknown } {
  const database = new SQLite(":memory:");
  try {
    database.exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
    database.prepare("INSERT INTO accounts VALUES (0, ?), (1, ?)").run(INITIAL, INITIAL);
    const counter = database.prepare("SELECT total_changes()").pluck();
    const before = Number(counter.get());
    const outcome = operations[access](database)({ from: 0, to: 1, amount: 30 });
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

for (const access of ["drizzle", "sql"] as const) {
  test(`${access} moves the amount with two updates`, () => {
    assert.deepEqual(transferred(access), { outcome: "transferred", balances: [70, 130], changes: 2 });
  });
}

test("drizzle-unexecuted says transferred and changes nothing", () => {
  assert.deepEqual(transferred("drizzle-unexecuted"), {
    outcome: "transferred",
    balances: [INITIAL, INITIAL],
    changes: 0,
  });
});
