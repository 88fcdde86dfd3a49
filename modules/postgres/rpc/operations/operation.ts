import type { Pool } from "pg";

export interface Transfer {
  readonly from: number;
  readonly to: number;
  readonly amount: number;
}

export type Outcome = "transferred" | "insufficient";

/** Rejects on everything that is neither a transfer nor a refusal for lack of funds. */
export type Operation = (transfer: Transfer) => Promise<Outcome>;

export type OperationFactory = (pool: Pool) => Operation;
