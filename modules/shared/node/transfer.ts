import { type Checks, INT4_MAX, integer, parseFields, RequestError } from "./fields.ts";
import { Refused } from "./operation.ts";

export interface Transfer {
  readonly from: number;
  readonly to: number;
  readonly amount: number;
}

/** The source has too little: the one refusal that the workload names. */
export const INSUFFICIENT = "insufficient";

const CHECKS: Checks<Transfer> = {
  from: integer(0, INT4_MAX),
  to: integer(0, INT4_MAX),
  amount: integer(1, INT4_MAX),
};
const EXAMPLE = '{"from":1,"to":2,"amount":3}';

export function parseTransfer(body: string): Transfer {
  const transfer = parseFields(body, CHECKS, EXAMPLE);
  if (transfer.from === transfer.to) {
    throw new RequestError(`from and to must be two accounts, not ${transfer.from} and ${transfer.to}`);
  }
  return transfer;
}

/** How a request for each kind is read. */
export const parsers = { transfer: parseTransfer };

/** Source and destination among the rows that were read; throws a Refused where one does not exist. */
export function sourceAndDestination<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => number,
  { from, to }: Transfer,
): [source: Row, destination: Row] {
  const source = rows.find((row) => idOf(row) === from);
  const destination = rows.find((row) => idOf(row) === to);
  if (source === undefined) throw new Refused(`account ${from} does not exist`);
  if (destination === undefined) throw new Refused(`account ${to} does not exist`);
  return [source, destination];
}
