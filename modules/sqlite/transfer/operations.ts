import type { Database } from "better-sqlite3";
import { type AccessLevels, request } from "../../shared/node/operation.ts";
import { parseTransfer, type Transfer } from "../../shared/node/transfer.ts";
import { drizzleTransfer } from "./operations/drizzle.ts";
import { drizzleUnexecutedTransfer } from "./operations/drizzle_unexecuted.ts";
import { sqlTransfer } from "./operations/sql.ts";

/** Makes the operation of an access level; it throws on everything that is neither done nor insufficient. */
export type TransferOn = (database: Database) => (transfer: Transfer) => string;

const level = (transferOn: TransferOn) => (database: Database) => ({
  transfer: request(parseTransfer, transferOn(database)),
});

/** The operation of each access level that procedure.toml declares. */
export const access: AccessLevels<Database> = {
  drizzle: level(drizzleTransfer),
  "drizzle-rollback": level(drizzleTransfer),
  "drizzle-unexecuted": level(drizzleUnexecutedTransfer),
  sql: level(sqlTransfer),
  "sql-rollback": level(sqlTransfer),
};
