// The rows as they are seeded and audited: put in by the harness, read back page by page.
import { paginationOptsValidator } from "convex/server";
import { v } from "convex/values";
import { mutation, query } from "./builders.ts";

export const fill = mutation({
  args: { table: v.literal("accounts"), rows: v.array(v.object({ id: v.number(), balance: v.number() })) },
  handler: async ({ db }, { table, rows }) => {
    for (const row of rows) await db.insert(table, row);
    return rows.length;
  },
});

export const page = query({
  args: { table: v.literal("accounts"), paginationOpts: paginationOptsValidator },
  handler: ({ db }, { table, paginationOpts }) => db.query(table).paginate(paginationOpts),
});
