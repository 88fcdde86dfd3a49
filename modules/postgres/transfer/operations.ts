import type { Pool } from "pg";
import { type AccessLevels, request } from "../../shared/node/operation.ts";
import { parseTransfer, type Transfer } from "../../shared/node/transfer.ts";
import { drizzleTransfer } from "./operations/drizzle.ts";
import { procedureTransfer } from "./operations/procedure.ts";
import { sqlTransfer } from "./operations/sql.ts";

/** Makes the operation of an access level; it rejects on everything that is neither done nor insufficient. */
export type TransferOn = (pool: Pool) => (transfer: Transfer) => Promise<string>;

const level = (transferOn: TransferOn) => (pool: Pool) => ({ transfer: request(parseTransfer, transferOn(pool)) });

/** The operation of each access level that procedure.toml declares for this tier. */
export const access: AccessLevels<Pool> = {
  drizzle: level(drizzleTransfer),
  sql: level(sqlTransfer),
  procedure: level(procedureTransfer),
};
