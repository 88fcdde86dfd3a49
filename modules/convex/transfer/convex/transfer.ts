// One transfer as a mutation: serializable, and run again by the server when what it read has changed.
import { v } from "convex/values";
import { mutation } from "./builders.ts";

export const transfer = mutation({
  args: { from: v.number(), to: v.number(), amount: v.number() },
  returns: v.union(v.literal("done"), v.literal("insufficient")),
  handler: async ({ db }, { from, to, amount }) => {
    if (amount < 1) throw new Error(`amount must be at least 1, not ${amount}`);
    if (from === to) throw new Error(`source and destination must be two accounts, not ${from} and ${to}`);
    const account = async (id: number) => {
      const found = await db
        .query("accounts")
        .withIndex("by_number", (range) => range.eq("id", id))
        .unique();
      if (found === null) throw new Error(`account ${id} does not exist`);
      return found;
    };
    const payer = await account(from);
    const payee = await account(to);
    if (payer.balance < amount) return "insufficient";
    await db.patch(payer._id, { balance: payer.balance - amount });
    await db.patch(payee._id, { balance: payee.balance + amount });
    return "done";
  },
});
