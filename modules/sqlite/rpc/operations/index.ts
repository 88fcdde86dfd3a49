import { createDrizzleOperation } from "./drizzle.ts";
import { createDrizzleUnexecutedOperation } from "./drizzle_unexecuted.ts";
import type { OperationFactory } from "./operation.ts";
import { createSqlOperation } from "./sql.ts";

/** The operation of each access level that module.toml declares. */
export const operations = {
  drizzle: createDrizzleOperation,
  "drizzle-unexecuted": createDrizzleUnexecutedOperation,
  sql: createSqlOperation,
} satisfies Record<string, OperationFactory>;

export type Access = keyof typeof operations;
