import { sql } from "@payloadcms/db-sqlite";
import type { Access, CollectionConfig, Field } from "payload";
import type { Definition } from "../workload.ts";

const everybody: Access = () => true;
const TOKEN_LIVES_S = 86_400;

const one = (name: string, relationTo: string): Field => ({ name, type: "relationship", relationTo, required: true });

/** Whether the user who is logged in is a member of the message's room: one query. */
const members: Access = async ({ req: { user, payload }, data }) => {
  const room: unknown = (data as { room?: unknown } | undefined)?.room;
  if (!user || typeof room !== "number") return false;
  const found = await payload.db.drizzle.run(
    sql`SELECT 1 FROM members WHERE user_id = ${user.id} AND room_id = ${room} LIMIT 1`,
  );
  return found.rows.length === 1;
};

const collections: CollectionConfig[] = [
  { slug: "users", auth: { tokenExpiration: TOKEN_LIVES_S }, access: { read: everybody }, fields: [] },
  { slug: "rooms", access: { read: everybody }, fields: [{ name: "name", type: "text" }] },
  { slug: "members", access: { read: everybody }, fields: [one("user", "users"), one("room", "rooms")] },
  {
    slug: "messages",
    access: { create: members, read: everybody },
    fields: [
      one("owner", "users"),
      one("room", "rooms"),
      { name: "connection", type: "number", required: true },
      { name: "index", type: "number", required: true },
      { name: "body", type: "text", required: true },
    ],
  },
];

export const definition: Definition = {
  collections,
  async prepare(payload) {
    for (const name of ["sender", "stranger"]) {
      const data = { email: `${name}@example.com`, password: "a secret of no worth" };
      await payload.create({ collection: "users", data });
    }
  },
};
