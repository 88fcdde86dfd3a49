import type { Database } from "better-sqlite3";

export interface Transfer {
  readonly from: number;
  readonly to: number;
  readonly amount: number;
}

export type Outcome = "transferred" | "insufficient";

/** Throws on everything that is neither a transfer nor a refusal for lack of funds. */
export type Operation = (transfer: Transfer) => Outcome;

export type OperationFactory = (database: Database) => Operation;
