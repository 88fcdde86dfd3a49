import { ACKNOWLEDGED, refusedAs } from "../../protocol.ts";
import { Refused } from "../../refused.ts";
import { INSUFFICIENT, transferOf } from "../../workloads/transfer.ts";
import type { SqliteMode } from "../sqlite.ts";

/** The transaction as five prepared statements, its reads after it has taken the write lock. */
export const sqlTransfer: SqliteMode = (database) => {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const read = database.prepare<[number, number], [number, number]>(
    "SELECT id, balance FROM accounts WHERE id IN (?, ?)",
  );
  const setBalance = database.prepare<[number, number]>("UPDATE accounts SET balance = ? WHERE id = ?");
  const commit = database.prepare("COMMIT");
  const rollback = database.prepare("ROLLBACK");
  read.raw();

  return (operation) => {
    const { from, to, amount } = transferOf(operation);
    begin.run();
    try {
      const rows = read.all(from, to);
      const sourceBalance = balanceOf(rows, from);
      const destinationBalance = balanceOf(rows, to);
      if (sourceBalance >= amount) {
        setBalance.run(sourceBalance - amount, from);
        setBalance.run(destinationBalance + amount, to);
      }
      commit.run();
      return sourceBalance >= amount ? ACKNOWLEDGED : refusedAs(INSUFFICIENT);
    } catch (error) {
      if (database.inTransaction) rollback.run();
      throw error;
    }
  };
};

function balanceOf(rows: readonly [number, number][], account: number): number {
  const row = rows.find(([id]) => id === account);
  if (row === undefined) throw new Refused(`account ${account} does not exist`);
  return row[1];
}
