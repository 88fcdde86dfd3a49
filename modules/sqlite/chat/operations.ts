import type { Database } from "better-sqlite3";
import { FORBIDDEN, parsePost, parseRead, type Post, type Read } from "../../shared/node/chat.ts";
import { type AccessLevels, DONE, type Requests, request } from "../../shared/node/operation.ts";
import { drizzleChat } from "./operations/drizzle.ts";

function sql(database: Database): Requests {
  // One statement is a transaction of its own.
  const insert = database.prepare<[number, number, number, string, number]>(
    'INSERT INTO messages (room, connection, "index", body) SELECT ?, ?, ?, ? ' +
      "WHERE EXISTS (SELECT 1 FROM members WHERE room = ? AND member = 1)",
  );
  const select = database.prepare<[number]>('SELECT id, room, connection, "index", body FROM messages WHERE id = ?');
  return {
    post: request(parsePost, ({ room, connection, index, body }: Post) =>
      insert.run(room, connection, index, body, room).changes === 1 ? DONE : FORBIDDEN,
    ),
    read: request(parseRead, ({ id }: Read) => {
      if (select.get(id) === undefined) throw new Error(`message ${id} does not exist`);
      return DONE;
    }),
  };
}

/** The operations of each access level that procedure.toml declares. */
export const access: AccessLevels<Database> = { sql, drizzle: drizzleChat };
