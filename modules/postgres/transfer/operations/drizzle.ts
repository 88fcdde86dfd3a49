import { DONE } from "../../../shared/node/operation.ts";
import { INSUFFICIENT, sourceAndDestination } from "../../../shared/node/transfer.ts";
import { bigint, drizzle, eq, inArray, integer, pgTable } from "../../orm.ts";
import type { TransferOn } from "../operations.ts";

const accounts = pgTable("accounts", {
  id: integer("id").primaryKey(),
  balance: bigint("balance", { mode: "bigint" }).notNull(),
});

/**
 * The transfer as an application writes it: five round trips, begin and commit included.
 * Both rows are locked, in id order, before either balance is looked at: crossing transfers then wait for
 * each other instead of deadlocking, and what was read is still true when it is written.
 */
export const drizzleTransfer: TransferOn = (connections) => {
  const database = drizzle({ client: connections });

  return (transfer) =>
    database.transaction(async (tx) => {
      const { from, to, amount } = transfer;
      const rows = await tx
        .select()
        .from(accounts)
        .where(inArray(accounts.id, [from, to]))
        .orderBy(accounts.id)
        .for("update");
      const [source, destination] = sourceAndDestination(rows, (row) => row.id, transfer);

      const moved = BigInt(amount);
      if (source.balance < moved) return INSUFFICIENT;

      await tx.update(accounts).set({ balance: source.balance - moved }).where(eq(accounts.id, from));
      await tx.update(accounts).set({ balance: destination.balance + moved }).where(eq(accounts.id, to));
      return DONE;
    });
};
