import type { Database } from "better-sqlite3";
import { fibonacci, parseCompute } from "../../shared/node/fibonacci.ts";
import { type AccessLevels, DONE, request } from "../../shared/node/operation.ts";

/** The operations of each access level that procedure.toml declares; the database is not asked. */
export const access: AccessLevels<Database> = {
  script: () => ({
    compute: request(parseCompute, ({ n, value }) => {
      const computed = fibonacci(n);
      if (computed !== value) throw new Error(`number ${n} is ${computed}, not ${value}`);
      return DONE;
    }),
  }),
};
