import { createRequire } from "node:module";
import { ACKNOWLEDGED, refusedAs } from "../../protocol.ts";
import { Refused } from "../../refused.ts";
import { FORBIDDEN, type Post, type Read } from "../../workloads/chat.ts";
import type { SqliteMode } from "../sqlite.ts";

/** Each operation as one prepared statement, which is its own transaction. */
export const sqlChat: SqliteMode = (database) => {
  const insert = database.prepare<[number, number, number, string, number]>(
    'INSERT INTO messages (room, connection, "index", body) SELECT ?, ?, ?, ? ' +
      "WHERE EXISTS (SELECT 1 FROM members WHERE room = ? AND member = 1)",
  );
  const select = database.prepare<[number]>('SELECT id, room, connection, "index", body FROM messages WHERE id = ?');

  return ({ kind, fields }) => {
    if (kind === "read") {
      const { id } = fields as unknown as Read;
      if (select.get(id) === undefined) throw new Refused(`message ${id} does not exist`);
      return ACKNOWLEDGED;
    }
    const { room, connection, index, body } = fields as unknown as Post;
    return insert.run(room, connection, index, body, room).changes === 1 ? ACKNOWLEDGED : refusedAs(FORBIDDEN);
  };
};

// The CommonJS build takes 35 MB where the same modules as ECMAScript modules take 240.
const require = createRequire(import.meta.url);

/** The chat as an application writes it with Drizzle; `checked`: whether the sender is looked up first. */
export const drizzleChat = (checked: boolean): SqliteMode => (client) => {
  const { and, eq } = require("drizzle-orm") as typeof import("drizzle-orm");
  const { drizzle } = require("drizzle-orm/better-sqlite3") as typeof import("drizzle-orm/better-sqlite3");
  const { integer, sqliteTable, text } = require("drizzle-orm/sqlite-core") as typeof import("drizzle-orm/sqlite-core");
  const members = sqliteTable("members", { room: integer("room").notNull(), member: integer("member").notNull() });
  const messages = sqliteTable("messages", {
    id: integer("id").primaryKey(),
    room: integer("room").notNull(),
    connection: integer("connection").notNull(),
    index: integer("index").notNull(),
    body: text("body").notNull(),
  });
  const database = drizzle({ client });
  database.select().from(messages).limit(0).all();

  return ({ kind, fields }) => {
    if (kind === "read") {
      const { id } = fields as unknown as Read;
      const found = database.select().from(messages).where(eq(messages.id, id)).get();
      if (found === undefined) throw new Refused(`message ${id} does not exist`);
      return ACKNOWLEDGED;
    }
    const message = fields as unknown as Post;
    const membership = and(eq(members.room, message.room), eq(members.member, 1));
    if (checked && database.select().from(members).where(membership).get() === undefined) {
      return refusedAs(FORBIDDEN);
    }
    database.insert(messages).values(message).run();
    return ACKNOWLEDGED;
  };
};
