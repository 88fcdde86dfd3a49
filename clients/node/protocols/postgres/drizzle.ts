import { createRequire } from "node:module";
import { ACKNOWLEDGED, refusedAs } from "../../protocol.ts";
import { Refused } from "../../refused.ts";
import { INSUFFICIENT, transferOf } from "../../workloads/transfer.ts";
import type { PostgresMode } from "../postgres.ts";

// The CommonJS build takes 35 MB where the same modules as ECMAScript modules take 240.
const require = createRequire(import.meta.url);
const { eq, inArray } = require("drizzle-orm") as typeof import("drizzle-orm");
const { drizzle } = require("drizzle-orm/node-postgres") as typeof import("drizzle-orm/node-postgres");
const { bigint, integer, pgTable } = require("drizzle-orm/pg-core") as typeof import("drizzle-orm/pg-core");

const accounts = pgTable("accounts", {
  id: integer("id").primaryKey(),
  balance: bigint("balance", { mode: "bigint" }).notNull(),
});

/** The transaction of the module's Node.js server (access level drizzle), statement by statement. */
export const drizzleTransfer: PostgresMode = async (client) => {
  const database = drizzle({ client });
  await database.select().from(accounts).limit(0);

  return (operation) => {
    const { from, to, amount } = transferOf(operation);
    return database.transaction(async (tx) => {
      const rows = await tx
        .select()
        .from(accounts)
        .where(inArray(accounts.id, [from, to]))
        .orderBy(accounts.id)
        .for("update");
      const source = rows.find((row) => row.id === from);
      const destination = rows.find((row) => row.id === to);
      if (source === undefined) throw new Refused(`account ${from} does not exist`);
      if (destination === undefined) throw new Refused(`account ${to} does not exist`);

      const moved = BigInt(amount);
      if (source.balance < moved) return refusedAs(INSUFFICIENT);

      await tx.update(accounts).set({ balance: source.balance - moved }).where(eq(accounts.id, from));
      await tx.update(accounts).set({ balance: destination.balance + moved }).where(eq(accounts.id, to));
      return ACKNOWLEDGED;
    });
  };
};
