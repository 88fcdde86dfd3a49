import type { Database } from "better-sqlite3";
import { and, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { FORBIDDEN, parsePost, parseRead } from "../../../shared/node/chat.ts";
import { DONE, type Requests, request } from "../../../shared/node/operation.ts";

const SENDER = 1;
const members = sqliteTable("members", { room: integer("room").notNull(), member: integer("member").notNull() });
const messages = sqliteTable("messages", {
  id: integer("id").primaryKey(),
  room: integer("room").notNull(),
  connection: integer("connection").notNull(),
  index: integer("index").notNull(),
  body: text("body").notNull(),
});

/** The chat as an application writes it: it looks the sender up, and then stores the message. */
export function drizzleChat(client: Database): Requests {
  const database = drizzle({ client });
  return {
    post: request(parsePost, (message) => {
      const membership = and(eq(members.room, message.room), eq(members.member, SENDER));
      if (database.select().from(members).where(membership).get() === undefined) return FORBIDDEN;
      database.insert(messages).values(message).run();
      return DONE;
    }),
    read: request(parseRead, ({ id }) => {
      if (database.select().from(messages).where(eq(messages.id, id)).get() === undefined) {
        throw new Error(`message ${id} does not exist`);
      }
      return DONE;
    }),
  };
}
