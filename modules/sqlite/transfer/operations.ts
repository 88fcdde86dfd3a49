import type { Database } from "better-sqlite3";
import type { Levels, Outcome } from "../../shared/node/operation.ts";
import type { Transfer } from "../../shared/node/transfer.ts";

export { parsers } from "../../shared/node/transfer.ts";

/** Makes the operation of an access level; it throws on everything that is neither done nor insufficient. */
export type TransferOn = (database: Database) => (transfer: Transfer) => Outcome;

const level = (load: () => Promise<TransferOn>) => async () => {
  const transferOn = await load();
  return (database: Database) => ({ transfer: transferOn(database) });
};

const drizzle = level(async () => (await import("./operations/drizzle.ts")).drizzleTransfer);
const unexecuted = level(async () => (await import("./operations/drizzle_unexecuted.ts")).drizzleUnexecutedTransfer);
const sql = level(async () => (await import("./operations/sql.ts")).sqlTransfer);

/** The operation of each access level that procedure.toml declares; the journal is the file's. */
export const levels: Levels<Database, Outcome> = {
  drizzle,
  "drizzle-rollback": drizzle,
  "drizzle-unexecuted": unexecuted,
  sql,
  "sql-rollback": sql,
};
