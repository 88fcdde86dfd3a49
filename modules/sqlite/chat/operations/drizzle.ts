import type { Database } from "better-sqlite3";
import { FORBIDDEN, type Post, type Read } from "../../../shared/node/chat.ts";
import { DONE, type Operations, type Outcome, Refused } from "../../../shared/node/operation.ts";
import { and, drizzle, eq, integer, sqliteTable, text } from "../../orm.ts";

const SENDER = 1;
const members = sqliteTable("members", { room: integer("room").notNull(), member: integer("member").notNull() });
const messages = sqliteTable("messages", {
  id: integer("id").primaryKey(),
  room: integer("room").notNull(),
  connection: integer("connection").notNull(),
  index: integer("index").notNull(),
  body: text("body").notNull(),
});

/** The chat on Drizzle; `checked`: whether the sender is looked up before the message is stored. */
const chat = (checked: boolean) => (client: Database): Operations<Outcome> => {
  const database = drizzle({ client });
  return {
    post: (message: Post) => {
      const membership = and(eq(members.room, message.room), eq(members.member, SENDER));
      if (checked && database.select().from(members).where(membership).get() === undefined) return FORBIDDEN;
      database.insert(messages).values(message).run();
      return DONE;
    },
    read: ({ id }: Read) => {
      if (database.select().from(messages).where(eq(messages.id, id)).get() === undefined) {
        throw new Refused(`message ${id} does not exist`);
      }
      return DONE;
    },
  };
};

/** The chat as an application writes it: it looks the sender up, and then stores the message. */
export const drizzleChat = chat(true);

/** A published benchmark's: whoever asks may send. procedure.toml names the source. */
export const uncheckedDrizzleChat = chat(false);
