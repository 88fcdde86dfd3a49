import type { Pool } from "pg";
import {
  type Increment,
  type Message,
  parseIncrement,
  parseMessage,
} from "../../shared/node/counter_and_messages.ts";
import { type AccessLevels, DONE, request } from "../../shared/node/operation.ts";

/** The operations of each access level that procedure.toml declares for this tier. */
export const access: AccessLevels<Pool> = {
  procedure: (pool) => ({
    increment: request(parseIncrement, ({ counter, amount }: Increment) =>
      call(pool, "increment_counter($1, $2)", [counter, amount]),
    ),
    message: request(parseMessage, ({ connection, index, body }: Message) =>
      call(pool, "send_message($1, $2, $3)", [connection, index, body]),
    ),
  }),
};

/** One round trip, one prepared statement for each pooled connection. */
async function call(pool: Pool, procedure: string, values: unknown[]): Promise<string> {
  await pool.query({ name: procedure, text: `SELECT ${procedure}`, values, rowMode: "array" });
  return DONE;
}
