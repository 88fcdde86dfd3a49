import { DONE } from "../../../shared/node/operation.ts";
import { INSUFFICIENT, sourceAndDestination } from "../../../shared/node/transfer.ts";
import { drizzle, eq, inArray, integer, sqliteTable } from "../../orm.ts";
import type { TransferOn } from "../operations.ts";

const accounts = sqliteTable("accounts", {
  id: integer("id").primaryKey(),
  balance: integer("balance").notNull(),
});

interface Query {
  run(): unknown;
}

/** The transfer on Drizzle; `send` gets both updates as built, for on this driver nothing is sent before run(). */
export const drizzleOperation = (send: (query: Query) => void): TransferOn => (client) => {
  const database = drizzle({ client });

  // "immediate" takes the write lock before anything is read, so that what was read is still true when it is written.
  return (transfer) =>
    database.transaction(
      (tx) => {
        const { from, to, amount } = transfer;
        const rows = tx
          .select()
          .from(accounts)
          .where(inArray(accounts.id, [from, to]))
          .all();
        const [source, destination] = sourceAndDestination(rows, (row) => row.id, transfer);
        if (source.balance < amount) return INSUFFICIENT;

        send(tx.update(accounts).set({ balance: source.balance - amount }).where(eq(accounts.id, from)));
        send(tx.update(accounts).set({ balance: destination.balance + amount }).where(eq(accounts.id, to)));
        return DONE;
      },
      { behavior: "immediate" },
    );
};

/** The transfer as an application writes it. */
export const drizzleTransfer = drizzleOperation((query) => query.run());
