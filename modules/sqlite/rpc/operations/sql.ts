import type { Operation, OperationFactory, Outcome } from "./operation.ts";

interface Account {
  readonly id: number;
  readonly balance: number;
}

/** The same transfer as five statements, each prepared once. */
export const createSqlOperation: OperationFactory = (database) => {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const select = database.prepare<[number, number], Account>("SELECT id, balance FROM accounts WHERE id IN (?, ?)");
  const update = database.prepare<[number, number]>("UPDATE accounts SET balance = ? WHERE id = ?");
  const commit = database.prepare("COMMIT");
  const rollback = database.prepare("ROLLBACK");

  const move: Operation = ({ from, to, amount }) => {
    const rows = select.all(from, to);
    const source = rows.find((row) => row.id === from);
    const destination = rows.find((row) => row.id === to);
    if (source === undefined) throw new Error(`account ${from} does not exist`);
    if (destination === undefined) throw new Error(`account ${to} does not exist`);
    if (source.balance < amount) return "insufficient";

    update.run(source.balance - amount, from);
    update.run(destination.balance + amount, to);
    return "transferred";
  };

  return (transfer): Outcome => {
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
