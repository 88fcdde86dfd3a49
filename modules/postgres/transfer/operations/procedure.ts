import { INSUFFICIENT } from "../../../shared/node/transfer.ts";
import { Procedure } from "../../procedure.ts";
import type { TransferOn } from "../operations.ts";

const TRANSFER = new Procedure("transfer", ["int4", "int4", "int4"], INSUFFICIENT);

/** The transfer as a database function: one round trip, one prepared statement for each pooled connection. */
export const procedureTransfer: TransferOn =
  (connections) =>
  ({ from, to, amount }) =>
    TRANSFER.call(connections, [from, to, amount]);
