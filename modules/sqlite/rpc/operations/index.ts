import { createDrizzleOperation } from "./drizzle.ts";
import type { OperationFactory } from "./operation.ts";
import { createSqlOperation } from "./sql.ts";

/** The operation of each access level that module.toml declares. */
export const operations = {
  drizzle: createDrizzleOperation,
  sql: createSqlOperation,
} satisfies Record<string, OperationFactory>;

export type Access = keyof typeof operations;
