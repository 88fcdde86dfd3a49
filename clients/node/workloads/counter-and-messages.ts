import { spell } from "../letters.ts";
import { Blocks, TWO_TO_32 } from "../philox.ts";
import type { WorkloadDefinition } from "../workload.ts";

const AMOUNT = 1;

export interface Increment {
  readonly counter: number;
  readonly amount: number;
}

export interface Message {
  readonly connection: number;
  readonly index: number;
  readonly body: string;
}

export const definition: WorkloadDefinition = {
  kinds: {
    increment: { counter: "u32", amount: "u32" },
    message: { connection: "u32", index: "u64", body: "text" },
  },
  refusals: [],
  createDraw({ seed, parameters }) {
    const blocks = new Blocks(seed);
    const counters = parameters.has("counters") ? parameters.integer("counters") : 1;
    const incrementShare = parameters.has("increment_share") ? parameters.number("increment_share") : 0.7;
    const incrementsBelow = Math.floor(incrementShare * TWO_TO_32);
    const letters = Buffer.alloc(parameters.has("message_bytes") ? parameters.integer("message_bytes") : 64);
    return (connection, index) => {
      const block = blocks.draw(connection, index, 0);
      if (block[0]! < incrementsBelow) {
        const counter = Math.floor((block[1]! * counters) / TWO_TO_32);
        return { kind: "increment", fields: { counter, amount: AMOUNT } };
      }
      return { kind: "message", fields: { connection, index, body: spell(letters, block[2]!, block[3]! | 1) } };
    };
  },
};
