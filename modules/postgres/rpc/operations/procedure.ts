import type { OperationFactory } from "./operation.ts";

/** The transfer as a database function: one round trip, one prepared statement for each pooled connection. */
export const createProcedureOperation: OperationFactory = (pool) => async ({ from, to, amount }) => {
  const { rows } = await pool.query<[number]>({
    name: "transfer",
    text: "SELECT transfer($1, $2, $3)",
    values: [from, to, amount],
    rowMode: "array",
  });
  const status = rows[0]?.[0];
  if (status === 1) return "transferred";
  if (status === 0) return "insufficient";
  throw new Error(`transfer returned ${status}, neither 1 nor 0`);
};
