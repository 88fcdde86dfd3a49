import type { Database } from "better-sqlite3";
import { FORBIDDEN, type Post, type Read } from "../../../shared/node/chat.ts";
import { DONE, type Operations, type Outcome, Refused } from "../../../shared/node/operation.ts";

/** Each operation as one prepared statement, which is a transaction of its own. */
export function sqlChat(database: Database): Operations<Outcome> {
  const insert = database.prepare<[number, number, number, string, number]>(
    'INSERT INTO messages (room, connection, "index", body) SELECT ?, ?, ?, ? ' +
      "WHERE EXISTS (SELECT 1 FROM members WHERE room = ? AND member = 1)",
  );
  const select = database.prepare<[number]>('SELECT id, room, connection, "index", body FROM messages WHERE id = ?');
  return {
    post: ({ room, connection, index, body }: Post) =>
      insert.run(room, connection, index, body, room).changes === 1 ? DONE : FORBIDDEN,
    read: ({ id }: Read) => {
      if (select.get(id) === undefined) throw new Refused(`message ${id} does not exist`);
      return DONE;
    },
  };
}
