import { createDrizzleOperation } from "./drizzle.ts";
import type { OperationFactory } from "./operation.ts";
import { createProcedureOperation } from "./procedure.ts";
import { createSqlOperation } from "./sql.ts";

/** The operation of each access level that module.toml declares for this tier. */
export const operations = {
  drizzle: createDrizzleOperation,
  sql: createSqlOperation,
  procedure: createProcedureOperation,
} satisfies Record<string, OperationFactory>;

export type Access = keyof typeof operations;
