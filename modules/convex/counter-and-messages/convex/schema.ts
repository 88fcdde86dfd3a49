// As many indexes as a published benchmark has on its counters and messages, of columns that stand for its own.
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  counters: defineTable({ id: v.number(), value: v.number(), updated: v.number() })
    .index("by_number", ["id"])
    .index("by_updated", ["updated"]),
  messages: defineTable({ connection: v.number(), index: v.number(), body: v.string(), sent: v.number() })
    .index("by_identity", ["connection", "index"])
    .index("by_connection", ["connection"])
    .index("by_sent", ["sent"])
    .index("by_connection_and_sent", ["connection", "sent"]),
});
