import { eq, inArray } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { bigint, integer, pgTable } from "drizzle-orm/pg-core";
import type { OperationFactory } from "./operation.ts";

const accounts = pgTable("accounts", {
  id: integer("id").primaryKey(),
  balance: bigint("balance", { mode: "bigint" }).notNull(),
});

/**
 * The transfer as an application writes it: five round trips, begin and commit included.
 * Both rows are locked, in id order, before either balance is looked at: crossing transfers then wait for
 * each other instead of deadlocking, and what was read is still true when it is written.
 */
export const createDrizzleOperation: OperationFactory = (pool) => {
  const database = drizzle({ client: pool });

  return ({ from, to, amount }) =>
    database.transaction(async (tx) => {
      const rows = await tx
        .select()
        .from(accounts)
        .where(inArray(accounts.id, [from, to]))
        .orderBy(accounts.id)
        .for("update");
      const source = rows.find((row) => row.id === from);
      const destination = rows.find((row) => row.id === to);
      if (source === undefined) throw new Error(`account ${from} does not exist`);
      if (destination === undefined) throw new Error(`account ${to} does not exist`);

      const moved = BigInt(amount);
      if (source.balance < moved) return "insufficient";

      await tx.update(accounts).set({ balance: source.balance - moved }).where(eq(accounts.id, from));
      await tx.update(accounts).set({ balance: destination.balance + moved }).where(eq(accounts.id, to));
      return "transferred";
    });
};
