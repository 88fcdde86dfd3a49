import type { QueryArrayConfig, QueryArrayResult } from "pg";
import { DONE, type Outcome, Refused } from "../shared/node/operation.ts";

/** What runs a statement: a pool, or one connection. */
export interface Queryable {
  query(query: QueryArrayConfig): Promise<QueryArrayResult<[number?]>>;
}

const STATUS_DONE = 1;
const STATUS_REFUSED = 0;

/**
 * The call of a database function: one round trip, one statement prepared once on each connection. It returns 1
 * where the operation was done, and 0 where it was refused as the workload names it.
 */
export class Procedure {
  readonly #name: string;
  readonly #signature: string;
  readonly #statement: string;
  readonly #refusal: Outcome | undefined;

  /** `types` are those of its arguments, as Postgres names them; without a `refusal` the workload knows none. */
  constructor(name: string, types: readonly string[], refusal: Outcome | undefined) {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    this.#name = name;
    this.#signature = `${quoted}(${types.join(", ")})`;
    this.#statement = `SELECT ${quoted}(${types.map((type, place) => `$${place + 1}::${type}`).join(", ")})`;
    this.#refusal = refusal;
  }

  /** Rejects where there is no such function. */
  async check(database: Queryable): Promise<void> {
    await database.query({ text: "SELECT $1::regprocedure", values: [this.#signature], rowMode: "array" });
  }

  async call(database: Queryable, values: readonly unknown[]): Promise<Outcome> {
    const { rows } = await database.query({
      name: this.#name,
      text: this.#statement,
      values: values as unknown[],
      rowMode: "array",
    });
    const status = rows[0]?.[0];
    if (status === STATUS_DONE) return DONE;
    if (status === STATUS_REFUSED && this.#refusal !== undefined) return this.#refusal;
    throw new Refused(`${this.#name} returned ${status}, which says neither done nor refused`);
  }
}
