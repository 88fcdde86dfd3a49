import { letters } from "../letters.js";
import { philox } from "../philox.js";

const WORDS = 4294967296;

/** Which operation is number `index` of a connection: `draw` gives its kind and its fields. */
export function create({ seed, parameters }) {
  const { counters, increment_share: incrementShare, message_bytes: messageBytes } = parameters;
  const increments = Math.floor(incrementShare * WORDS);
  const block = new Uint32Array(4);
  const fill = philox(seed, block);
  return (connection, index) => {
    fill(index, connection, 0);
    if (block[0] < increments) {
      const counter = Math.floor((block[1] * counters) / WORDS);
      return { kind: "increment", fields: { counter, amount: 1 } };
    }
    return { kind: "message", fields: { connection, index, body: letters(block[2], block[3] | 1, messageBytes) } };
  };
}
