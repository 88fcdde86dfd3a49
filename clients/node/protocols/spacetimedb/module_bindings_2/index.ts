// What `spacetime generate --lang typescript` of 2.x writes for the reducers of a module, built from the kinds of a
// workload because that program is not everywhere, and without the tables and reducers that a load does not touch.
import {
  DbConnectionBuilder,
  type DbConnectionConfig,
  DbConnectionImpl,
  procedures,
  reducers,
  reducerSchema,
  schema,
  t,
} from "spacetimedb";
import type { Arguments, ArgumentType, ReducerCall } from "../calls.ts";

const TYPES = {
  u32: () => t.u32(),
  u64: () => t.u64(),
  i64: () => t.i64(),
  string: () => t.string(),
} satisfies Record<ArgumentType, unknown>;

const tablesSchema = schema({});
const proceduresSchema = procedures();

function schemaOf({ reducer, types }: ReducerCall) {
  return reducerSchema(
    reducer,
    Object.fromEntries(Object.entries(types).map(([name, type]) => [name, TYPES[type]()])),
  );
}

function remoteModule(calls: readonly ReducerCall[]) {
  return {
    versionInfo: { cliVersion: "2.8.3" as const },
    tables: tablesSchema.schemaType.tables,
    reducers: reducers(...calls.map(schemaOf)).reducersType.reducers,
    ...proceduresSchema,
  };
}

type Module = ReturnType<typeof remoteModule>;

export class DbConnection extends DbConnectionImpl<Module> {}

export function connectionBuilder(calls: readonly ReducerCall[]): DbConnectionBuilder<DbConnection> {
  return new DbConnectionBuilder(remoteModule(calls), (config: DbConnectionConfig<Module>) => new DbConnection(config));
}

/** Calls a reducer of the module; resolves when it has committed. */
export function callerOf(connection: DbConnection, call: ReducerCall): (given: Arguments) => Promise<void> {
  const callers = connection.reducers as unknown as Readonly<Record<string, (given: Arguments) => Promise<void>>>;
  return callers[schemaOf(call).accessorName]!;
}
