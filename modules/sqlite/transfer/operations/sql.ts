import { DONE } from "../../../shared/node/operation.ts";
import { INSUFFICIENT, sourceAndDestination, type Transfer } from "../../../shared/node/transfer.ts";
import type { TransferOn } from "../operations.ts";

interface Account {
  readonly id: number;
  readonly balance: number;
}

/** The same transfer as five statements, each prepared once. */
export const sqlTransfer: TransferOn = (database) => {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const select = database.prepare<[number, number], Account>("SELECT id, balance FROM accounts WHERE id IN (?, ?)");
  const update = database.prepare<[number, number]>("UPDATE accounts SET balance = ? WHERE id = ?");
  const commit = database.prepare("COMMIT");
  const rollback = database.prepare("ROLLBACK");

  const move = (transfer: Transfer): string => {
    const { from, to, amount } = transfer;
    const [source, destination] = sourceAndDestination(select.all(from, to), (row) => row.id, transfer);
    if (source.balance < amount) return INSUFFICIENT;

    update.run(source.balance - amount, from);
    update.run(destination.balance + amount, to);
    return DONE;
  };

  return (transfer) => {
    begin.run();
    try {
      const outcome = move(transfer);
      commit.run();
      return outcome;
    } finally {
      // Still open only when a statement failed.
      if (database.inTransaction) rollback.run();
    }
  };
};
