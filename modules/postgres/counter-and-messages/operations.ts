import type { Increment, Message } from "../../shared/node/counter_and_messages.ts";
import type { Levels, Outcome } from "../../shared/node/operation.ts";
import type { Connections } from "../connections.ts";
import { Procedure } from "../procedure.ts";

export { parsers } from "../../shared/node/counter_and_messages.ts";

const INCREMENT = new Procedure("increment_counter", ["int4", "int4"], undefined);
const MESSAGE = new Procedure("send_message", ["int4", "int8", "text"], undefined);

/** The operations of each access level that procedure.toml declares for this tier. */
export const levels: Levels<Connections, Promise<Outcome>> = {
  procedure: async () => (connections) => ({
    increment: ({ counter, amount }: Increment) => INCREMENT.call(connections, [counter, amount]),
    message: ({ connection, index, body }: Message) => MESSAGE.call(connections, [connection, index, body]),
  }),
};
