import type { Operation, Outcome, Transfer } from "./operations/operation.ts";

/** What Postgres asks to try again: serialization failure and deadlock. */
const REFUSED_FOR_NOW = new Set(["40001", "40P01"]);

export interface Attempted {
  /** An error is the last attempt's. */
  readonly outcome: Outcome | { readonly error: unknown };
  readonly retries: number;
}

/** Runs a transfer, and again up to `maxRetries` times while the database refuses it only for now. */
export async function attempt(operation: Operation, transfer: Transfer, maxRetries: number): Promise<Attempted> {
  for (let retries = 0; ; retries++) {
    try {
      return { outcome: await operation(transfer), retries };
    } catch (error) {
      if (retries === maxRetries || !REFUSED_FOR_NOW.has(sqlState(error))) return { outcome: { error }, retries };
    }
  }
}

/** Drizzle wraps the database's error in its own. */
function sqlState(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const { code, cause } = error as Error & { code?: unknown };
  return typeof code === "string" ? code : sqlState(cause);
}
