import { createDrizzleOperation } from "./drizzle.ts";
import type { OperationFactory } from "./operation.ts";
import { createProcedureOperation } from "./procedure.ts";

/** The operation of each access level that module.toml declares. */
export const operations = {
  drizzle: createDrizzleOperation,
  procedure: createProcedureOperation,
} satisfies Record<string, OperationFactory>;

export type Access = keyof typeof operations;
