import { eq, inArray } from "drizzle-orm";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { integer, sqliteTable } from "drizzle-orm/sqlite-core";
import type { OperationFactory } from "./operation.ts";

const accounts = sqliteTable("accounts", {
  id: integer("id").primaryKey(),
  balance: integer("balance").notNull(),
});

/**
 * The transfer as an application writes it. "immediate" takes the write lock before anything is read, so that
 * what was read is still true when it is written. On this driver a query without run() or all() is never sent.
 */
export const createDrizzleOperation: OperationFactory = (client) => {
  const database = drizzle({ client });

  return ({ from, to, amount }) =>
    database.transaction(
      (tx) => {
        const rows = tx
          .select()
          .from(accounts)
          .where(inArray(accounts.id, [from, to]))
          .all();
        const source = rows.find((row) => row.id === from);
        const destination = rows.find((row) => row.id === to);
        if (source === undefined) throw new Error(`account ${from} does not exist`);
        if (destination === undefined) throw new Error(`account ${to} does not exist`);
        if (source.balance < amount) return "insufficient";

        tx.update(accounts).set({ balance: source.balance - amount }).where(eq(accounts.id, from)).run();
        tx.update(accounts).set({ balance: destination.balance + amount }).where(eq(accounts.id, to)).run();
        return "transferred";
      },
      { behavior: "immediate" },
    );
};
