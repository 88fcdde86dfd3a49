import type { Database } from "better-sqlite3";
import type { Levels, Outcome } from "../../shared/node/operation.ts";

export { parsers } from "../../shared/node/counter_and_messages.ts";

const sql = async () => (await import("./operations/sql.ts")).sqlCounterAndMessages;

/** The operations of each access level that procedure.toml declares; the journal is the file's. */
export const levels: Levels<Database, Outcome> = { sql, "sql-rollback": sql };
