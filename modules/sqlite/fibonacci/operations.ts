import type { Database } from "better-sqlite3";
import { type Compute, fibonacci } from "../../shared/node/fibonacci.ts";
import { DONE, type Levels, type Outcome } from "../../shared/node/operation.ts";

export { parsers } from "../../shared/node/fibonacci.ts";

/** The operations of each access level that procedure.toml declares; the database is not asked. */
export const levels: Levels<Database, Outcome> = {
  script: async () => () => ({
    compute: ({ n, value }: Compute) => {
      const computed = fibonacci(n);
      if (computed !== value) throw new Error(`number ${n} is ${computed}, not ${value}`);
      return DONE;
    },
  }),
};
