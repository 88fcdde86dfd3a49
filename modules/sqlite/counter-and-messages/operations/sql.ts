import type { Database } from "better-sqlite3";
import type { Increment, Message } from "../../../shared/node/counter_and_messages.ts";
import { DONE, type Operations, type Outcome, Refused } from "../../../shared/node/operation.ts";

/** Each operation as one prepared statement, which is a transaction of its own. */
export function sqlCounterAndMessages(database: Database): Operations<Outcome> {
  const increment = database.prepare<[number, number]>("UPDATE counters SET value = value + ? WHERE id = ?");
  const insert = database.prepare<[number, number, string]>(
    'INSERT INTO messages (connection, "index", body) VALUES (?, ?, ?)',
  );
  return {
    increment: ({ counter, amount }: Increment) => {
      if (increment.run(amount, counter).changes !== 1) throw new Refused(`counter ${counter} does not exist`);
      return DONE;
    },
    message: ({ connection, index, body }: Message) => {
      insert.run(connection, index, body);
      return DONE;
    },
  };
}
