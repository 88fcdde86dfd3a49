import { type Checks, INT4_MAX, integer, parseFields, RequestError } from "./fields.ts";

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

/** Source and destination among the rows that were read; throws where one does not exist. */
export function sourceAndDestination<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => number,
  { from, to }: Transfer,
): [source: Row, destination: Row] {
  const source = rows.find((row) => idOf(row) === from);
  const destination = rows.find((row) => idOf(row) === to);
  if (source === undefined) throw new Error(`account ${from} does not exist`);
  if (destination === undefined) throw new Error(`account ${to} does not exist`);
  return [source, destination];
}
