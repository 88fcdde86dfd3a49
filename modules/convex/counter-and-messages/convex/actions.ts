// What a route runs: an action, which is no transaction itself and runs a query and a mutation.
import { actionGeneric, makeFunctionReference } from "convex/server";
import { type GenericId, v } from "convex/values";

const counterOf = makeFunctionReference<"query", { counter: number }, { _id: GenericId<string> } | null>("writes:counterOf");
const incrementFound = makeFunctionReference<"mutation">("writes:incrementFound");
const addMessage = makeFunctionReference<"mutation">("writes:message");

export const increment = actionGeneric({
  args: { counter: v.number(), amount: v.number() },
  handler: async (context, { counter, amount }) => {
    const found = await context.runQuery(counterOf, { counter });
    if (found === null) throw new Error(`counter ${counter} does not exist`);
    return await context.runMutation(incrementFound, { id: found._id, amount });
  },
});

export const message = actionGeneric({
  args: { connection: v.number(), index: v.number(), body: v.string() },
  handler: async (context, operation) => await context.runMutation(addMessage, operation),
});
