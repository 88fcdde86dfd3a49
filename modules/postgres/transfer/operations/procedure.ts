import { DONE } from "../../../shared/node/operation.ts";
import { INSUFFICIENT } from "../../../shared/node/transfer.ts";
import type { TransferOn } from "../operations.ts";

/** The transfer as a database function: one round trip, one prepared statement for each pooled connection. */
export const procedureTransfer: TransferOn = (pool) => async ({ from, to, amount }) => {
  const { rows } = await pool.query<[number]>({
    name: "transfer",
    text: "SELECT transfer($1, $2, $3)",
    values: [from, to, amount],
    rowMode: "array",
  });
  const status = rows[0]?.[0];
  if (status === 1) return DONE;
  if (status === 0) return INSUFFICIENT;
  throw new Error(`transfer returned ${status}, neither 1 nor 0`);
};
