import pg from "pg";
import { ACKNOWLEDGED, type Outcome, refusedAs } from "../../protocol.ts";
import { Refused } from "../../refused.ts";
import type { FieldType, FieldValue, Kind, Operations } from "../../workload.ts";
import type { PostgresMode } from "../postgres.ts";

const TYPES: Record<FieldType, string> = { u32: "int4", u64: "int8", text: "text" };
const DONE = 1;
const REFUSED = 0;

/** The call of a database function: one round trip, one named prepared statement. */
class Procedure {
  readonly #kind: string;
  readonly #name: string;
  readonly #fields: readonly string[];
  readonly #types: readonly string[];
  readonly #statement: string;
  readonly #refused: Outcome | undefined;

  constructor(kind: string, name: string, fields: Kind, refused: Outcome | undefined) {
    this.#kind = kind;
    this.#name = pg.escapeIdentifier(name);
    this.#fields = Object.keys(fields);
    this.#types = Object.values(fields).map((type) => TYPES[type]);
    this.#statement = `SELECT ${this.#name}(${this.#types.map((type, place) => `$${place + 1}::${type}`).join(", ")})`;
    this.#refused = refused;
  }

  /** Rejects where there is no such function. */
  async check(client: pg.Client): Promise<void> {
    await client.query("SELECT $1::regprocedure", [`${this.#name}(${this.#types.join(", ")})`]);
  }

  async call(client: pg.Client, fields: Readonly<Record<string, FieldValue>>): Promise<Outcome> {
    const { rows } = await client.query<[number]>({
      name: this.#kind,
      text: this.#statement,
      values: this.#fields.map((field) => fields[field]),
      rowMode: "array",
    });
    const status = rows[0]?.[0];
    if (status === DONE) return ACKNOWLEDGED;
    if (status === REFUSED && this.#refused !== undefined) return this.#refused;
    throw new Refused(`${this.#name} returned ${status}, which says neither done nor refused`);
  }
}

/** Every operation as one call of the function of its kind; the first call prepares it. */
export function procedures(functions: Readonly<Record<string, string>>, { kinds, refusals }: Operations): PostgresMode {
  const [refusal] = refusals;
  const refused = refusal === undefined ? undefined : refusedAs(refusal);
  const byKind = new Map(
    Object.entries(kinds).map(([kind, fields]) => [kind, new Procedure(kind, functions[kind]!, fields, refused)]),
  );
  return async (client) => {
    for (const procedure of byKind.values()) await procedure.check(client);
    return ({ kind, fields }) => byKind.get(kind)!.call(client, fields);
  };
}
