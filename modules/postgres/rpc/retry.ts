import type { Answer, Run } from "../../shared/node/http.ts";

/** What Postgres asks to try again: serialization failure and deadlock. */
const REFUSED_FOR_NOW = new Set(["40001", "40P01"]);

/** Runs an operation, and again up to `maxRetries` times while the database refuses it only for now. */
export function retrying(maxRetries: number): Run {
  return async (attempt): Promise<Answer> => {
    for (let retries = 0; ; retries++) {
      try {
        return { outcome: await attempt(), retries };
      } catch (error) {
        if (retries === maxRetries || !REFUSED_FOR_NOW.has(sqlState(error))) return { outcome: { error }, retries };
      }
    }
  };
}

/** Drizzle wraps the database's error in its own. */
function sqlState(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const { code, cause } = error as Error & { code?: unknown };
  return typeof code === "string" ? code : sqlState(cause);
}
