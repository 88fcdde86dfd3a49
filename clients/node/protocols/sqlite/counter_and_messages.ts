import { ACKNOWLEDGED } from "../../protocol.ts";
import { Refused } from "../../refused.ts";
import type { Increment, Message } from "../../workloads/counter-and-messages.ts";
import type { SqliteMode } from "../sqlite.ts";

/** Each operation as one prepared statement, which is its own transaction. */
export const sqlCounterAndMessages: SqliteMode = (database) => {
  const increment = database.prepare<[number, number]>("UPDATE counters SET value = value + ? WHERE id = ?");
  const insert = database.prepare<[number, number, string]>("INSERT INTO messages VALUES (?, ?, ?)");

  return ({ kind, fields }) => {
    if (kind === "message") {
      const { connection, index, body } = fields as unknown as Message;
      insert.run(connection, index, body);
      return ACKNOWLEDGED;
    }
    const { counter, amount } = fields as unknown as Increment;
    if (increment.run(amount, counter).changes !== 1) throw new Refused(`counter ${counter} does not exist`);
    return ACKNOWLEDGED;
  };
};
