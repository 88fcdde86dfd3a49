import type { Database } from "better-sqlite3";
import type { Levels, Outcome } from "../../shared/node/operation.ts";

export { parsers } from "../../shared/node/chat.ts";

/** The operations of each access level that procedure.toml declares. */
export const levels: Levels<Database, Outcome> = {
  sql: async () => (await import("./operations/sql.ts")).sqlChat,
  drizzle: async () => (await import("./operations/drizzle.ts")).drizzleChat,
  "drizzle-unchecked": async () => (await import("./operations/drizzle.ts")).uncheckedDrizzleChat,
};
