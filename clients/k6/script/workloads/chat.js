import { letters } from "../letters.js";
import { philox } from "../philox.js";

const WORDS = 4294967296;
const FIRST_ID = 100000000000000;
/** 2^32 over the golden ratio: its multiples spread the turns of connections evenly. */
const SPREAD = 2654435769;

/** Which operation is number `index` of a connection: `draw` gives its kind and its fields. */
export function create({ seed, parameters }) {
  const { rooms, stored, read_share: readShare, forbidden_every: every, message_bytes: messageBytes } = parameters;
  const reads = Math.floor(readShare * WORDS);
  const block = new Uint32Array(4);
  const fill = philox(seed, block);
  return (connection, index) => {
    fill(index, connection, 0);
    if (block[0] < reads) {
      return { kind: "read", fields: { id: FIRST_ID + Math.floor((block[1] * stored) / WORDS) } };
    }
    const ahead = Math.floor(((Math.imul(connection, SPREAD) >>> 0) * every) / WORDS);
    const isForbidden = every > 0 && ((index % every) + ahead) % every === every - 1;
    const room = FIRST_ID + (isForbidden ? rooms : Math.floor((block[1] * rooms) / WORDS));
    return { kind: "post", fields: { room, connection, index, body: letters(block[2], block[3] | 1, messageBytes) } };
  };
}
