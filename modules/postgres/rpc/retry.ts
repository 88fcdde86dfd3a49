import { setTimeout as after } from "node:timers/promises";
import type { RetryWait } from "../../shared/node/configuration.ts";
import type { Answer, Run } from "../../shared/node/http.ts";

/** What Postgres asks to try again: serialization failure and deadlock. */
const REFUSED_FOR_NOW = new Set(["40001", "40P01"]);

/**
 * Runs an operation, and again up to `maxRetries` times while the database refuses it only for now; `wait` says how
 * long it rests before each of these, null is not at all.
 */
export function retrying(maxRetries: number, wait: RetryWait | null = null): Run {
  return async (attempt): Promise<Answer> => {
    for (let retries = 0; ; retries++) {
      try {
        return { outcome: await attempt(), retries };
      } catch (error) {
        if (retries === maxRetries || !REFUSED_FOR_NOW.has(sqlState(error))) return { outcome: { error }, retries };
        if (wait !== null) await after(waitMs(wait, retries));
      }
    }
  };
}

/** The bound doubles with each attempt; the even draw below it keeps those that collided from meeting again. */
export function waitMs({ firstMs, mostMs }: RetryWait, retries: number): number {
  return Math.random() * Math.min(mostMs, firstMs * 2 ** retries);
}

/** Drizzle wraps the database's error in its own. */
function sqlState(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const { code, cause } = error as Error & { code?: unknown };
  return typeof code === "string" ? code : sqlState(cause);
}
