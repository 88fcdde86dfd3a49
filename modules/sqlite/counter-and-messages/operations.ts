import type { Database } from "better-sqlite3";
import {
  type Increment,
  type Message,
  parseIncrement,
  parseMessage,
} from "../../shared/node/counter_and_messages.ts";
import { type AccessLevels, DONE, type Requests, request } from "../../shared/node/operation.ts";

function sql(database: Database): Requests {
  // One statement is a transaction of its own.
  const increment = database.prepare<[number, number]>("UPDATE counters SET value = value + ? WHERE id = ?");
  const insert = database.prepare<[number, number, string]>(
    'INSERT INTO messages (connection, "index", body) VALUES (?, ?, ?)',
  );
  return {
    increment: request(parseIncrement, ({ counter, amount }: Increment) => {
      if (increment.run(amount, counter).changes === 1) return DONE;
      throw new Error(`counter ${counter} does not exist`);
    }),
    message: request(parseMessage, ({ connection, index, body }: Message) => {
      insert.run(connection, index, body);
      return DONE;
    }),
  };
}

/** The operations of each access level that procedure.toml declares; the journal is the file's. */
export const access: AccessLevels<Database> = { sql, "sql-rollback": sql };
