import { createRequire } from "node:module";
import { ACKNOWLEDGED, refusedAs } from "../../protocol.ts";
import { Refused } from "../../refused.ts";
import { INSUFFICIENT, transferOf } from "../../workloads/transfer.ts";
import type { SqliteMode } from "../sqlite.ts";

// The CommonJS build takes 35 MB where the same modules as ECMAScript modules take 240.
const require = createRequire(import.meta.url);
const { eq, inArray } = require("drizzle-orm") as typeof import("drizzle-orm");
const { drizzle } = require("drizzle-orm/better-sqlite3") as typeof import("drizzle-orm/better-sqlite3");
const { integer, sqliteTable } = require("drizzle-orm/sqlite-core") as typeof import("drizzle-orm/sqlite-core");

const accounts = sqliteTable("accounts", {
  id: integer("id").primaryKey(),
  balance: integer("balance").notNull(),
});

/** The transaction as an application writes it with Drizzle, its reads after it has taken the write lock. */
export const drizzleTransfer: SqliteMode = (client) => {
  const database = drizzle({ client });
  database.select().from(accounts).limit(0).all();

  return (operation) => {
    const { from, to, amount } = transferOf(operation);
    return database.transaction(
      (tx) => {
        const rows = tx
          .select()
          .from(accounts)
          .where(inArray(accounts.id, [from, to]))
          .all();
        const source = rows.find((row) => row.id === from);
        const destination = rows.find((row) => row.id === to);
        if (source === undefined) throw new Refused(`account ${from} does not exist`);
        if (destination === undefined) throw new Refused(`account ${to} does not exist`);
        if (source.balance < amount) return refusedAs(INSUFFICIENT);

        tx.update(accounts).set({ balance: source.balance - amount }).where(eq(accounts.id, from)).run();
        tx.update(accounts).set({ balance: destination.balance + amount }).where(eq(accounts.id, to)).run();
        return ACKNOWLEDGED;
      },
      { behavior: "immediate" },
    );
  };
};
