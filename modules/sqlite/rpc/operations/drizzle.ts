import { eq, inArray } from "drizzle-orm";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { integer, sqliteTable } from "drizzle-orm/sqlite-core";
import type { OperationFactory } from "./operation.ts";

const accounts = sqliteTable("accounts", {
  id: integer("id").primaryKey(),
  balance: integer("balance").notNull(),
});

interface Query {
  run(): unknown;
}

/** The transfer on Drizzle; `send` gets both updates as built, for on this driver nothing is sent before run(). */
export const drizzleOperation = (send: (query: Query) => void): OperationFactory => (client) => {
  const database = drizzle({ client });

  // "immediate" takes the write lock before anything is read, so that what was read is still true when it is written.
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

        send(tx.update(accounts).set({ balance: source.balance - amount }).where(eq(accounts.id, from)));
        send(tx.update(accounts).set({ balance: destination.balance + amount }).where(eq(accounts.id, to)));
        return "transferred";
      },
      { behavior: "immediate" },
    );
};

/** The transfer as an application writes it. */
export const createDrizzleOperation = drizzleOperation((query) => query.run());
