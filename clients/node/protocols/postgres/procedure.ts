import { Procedure } from "../../../../modules/postgres/procedure.ts";
import type { FieldType, Operations } from "../../workload.ts";
import type { PostgresMode } from "../postgres.ts";

const TYPES: Record<FieldType, string> = { u32: "int4", u64: "int8", text: "text" };

/** Every operation as one call of the function of its kind; the first call prepares it. */
export function procedures(functions: Readonly<Record<string, string>>, { kinds, refusals }: Operations): PostgresMode {
  const byKind = new Map(
    Object.entries(kinds).map(([kind, fields]) => {
      const types = Object.values(fields).map((type) => TYPES[type]);
      return [kind, { procedure: new Procedure(functions[kind]!, types, refusals[0]), names: Object.keys(fields) }];
    }),
  );
  return async () => async (client) => {
    for (const { procedure } of byKind.values()) await procedure.check(client);
    return ({ kind, fields }) => {
      const { procedure, names } = byKind.get(kind)!;
      return procedure.call(client, names.map((name) => fields[name]));
    };
  };
}
