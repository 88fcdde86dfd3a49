import { spell } from "../letters.ts";
import { Blocks, TWO_TO_32 } from "../philox.ts";
import type { WorkloadDefinition } from "../workload.ts";

/** The least id of a room, and of a message that is there from the beginning. */
const FIRST_ID = 100_000_000_000_000;
/** 2^32 over the golden ratio: its multiples spread the turns of connections evenly. */
const SPREAD = 2_654_435_769;
export const FORBIDDEN = "forbidden";

export interface Post {
  readonly room: number;
  readonly connection: number;
  readonly index: number;
  readonly body: string;
}

export interface Read {
  readonly id: number;
}

export const definition: WorkloadDefinition = {
  kinds: {
    post: { room: "u64", connection: "u32", index: "u64", body: "text" },
    read: { id: "u64" },
  },
  refusals: [FORBIDDEN],
  createDraw({ seed, parameters }) {
    const given = (key: string, otherwise: number) => (parameters.has(key) ? parameters.integer(key) : otherwise);
    const blocks = new Blocks(seed);
    const rooms = given("rooms", 1);
    const every = given("forbidden_every", 2000);
    const stored = given("stored", 10_000);
    const readsBelow = Math.floor((parameters.has("read_share") ? parameters.number("read_share") : 0) * TWO_TO_32);
    const letters = Buffer.alloc(given("message_bytes", 16));
    return (connection, index) => {
      const block = blocks.draw(connection, index, 0);
      if (block[0]! < readsBelow) {
        return { kind: "read", fields: { id: FIRST_ID + Math.floor((block[1]! * stored) / TWO_TO_32) } };
      }
      const ahead = Math.floor(((Math.imul(connection, SPREAD) >>> 0) * every) / TWO_TO_32);
      const isForbidden = every > 0 && ((index % every) + ahead) % every === every - 1;
      const room = FIRST_ID + (isForbidden ? rooms : Math.floor((block[1]! * rooms) / TWO_TO_32));
      const body = spell(letters, block[2]!, block[3]! | 1);
      return { kind: "post", fields: { room, connection, index, body } };
    };
  },
};
