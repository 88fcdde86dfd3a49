// What `spacetime generate --lang typescript` of 2.x writes for a reducer that transfers, put down by hand because that
// program is not everywhere, and without the tables and reducers that a load does not touch.
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
import type { Transfer } from "../../../work.ts";

type Amount = "u32" | "i64";

interface TransferArguments {
  readonly from: number;
  readonly to: number;
  readonly amount: number | bigint;
}

const tablesSchema = schema({});
const proceduresSchema = procedures();

function remoteModule(reducer: string, amount: Amount) {
  const schemaOf = { from: t.u32(), to: t.u32(), amount: amount === "u32" ? t.u32() : t.i64() };
  return {
    versionInfo: { cliVersion: "2.8.3" as const },
    tables: tablesSchema.schemaType.tables,
    reducers: reducers(reducerSchema(reducer, schemaOf)).reducersType.reducers,
    ...proceduresSchema,
  };
}

type BankModule = ReturnType<typeof remoteModule>;

export class DbConnection extends DbConnectionImpl<BankModule> {}

export function connectionBuilder(reducer: string, amount: Amount): DbConnectionBuilder<DbConnection> {
  const module = remoteModule(reducer, amount);
  return new DbConnectionBuilder(module, (config: DbConnectionConfig<BankModule>) => new DbConnection(config));
}

/** Calls the one reducer of the module, which takes the amount as it was bound. */
export function transferBy({ reducers }: DbConnection, amount: Amount): (transfer: Transfer) => Promise<void> {
  const [call] = Object.values<(transfer: TransferArguments) => Promise<void>>(reducers);
  if (amount === "u32") return ({ source, destination, amount }) => call!({ from: source, to: destination, amount });
  return ({ source, destination, amount }) => call!({ from: source, to: destination, amount: BigInt(amount) });
}
