// Both operations as mutations, and what actions need of them.
import { v } from "convex/values";
import { mutation, query } from "./builders.ts";

export const increment = mutation({
  args: { counter: v.number(), amount: v.number() },
  handler: async ({ db }, { counter, amount }) => {
    const found = await db
      .query("counters")
      .withIndex("by_number", (range) => range.eq("id", counter))
      .unique();
    if (found === null) throw new Error(`counter ${counter} does not exist`);
    await db.patch(found._id, { value: found.value + amount, updated: Date.now() });
    return found.value + amount;
  },
});

export const message = mutation({
  args: { connection: v.number(), index: v.number(), body: v.string() },
  handler: async ({ db }, { connection, index, body }) => {
    const stored = await db
      .query("messages")
      .withIndex("by_identity", (range) => range.eq("connection", connection).eq("index", index))
      .first();
    if (stored !== null) throw new Error(`message ${index} of connection ${connection} is stored already`);
    return await db.insert("messages", { connection, index, body, sent: Date.now() });
  },
});

/** The counter of a number, for an action that then increments it by its identity. */
export const counterOf = query({
  args: { counter: v.number() },
  handler: ({ db }, { counter }) =>
    db
      .query("counters")
      .withIndex("by_number", (range) => range.eq("id", counter))
      .unique(),
});

export const incrementFound = mutation({
  args: { id: v.id("counters"), amount: v.number() },
  handler: async ({ db }, { id, amount }) => {
    const found = await db.get(id);
    if (found === null) throw new Error("the counter is gone");
    await db.patch(id, { value: found.value + amount, updated: Date.now() });
    return found.value + amount;
  },
});
