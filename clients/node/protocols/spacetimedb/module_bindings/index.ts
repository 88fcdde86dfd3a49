// What `spacetime generate --lang typescript` writes for the module's reducer `transfer`, put down by hand
// because that program is not everywhere, and without the tables and reducers that a load does not touch.
import {
  BinaryWriter,
  type CallReducerFlags,
  DbConnectionBuilder,
  DbConnectionImpl,
  type ErrorContextInterface,
  type Event,
  type ReducerEventContextInterface,
  type SubscriptionEventContextInterface,
} from "@clockworklabs/spacetimedb-sdk";
import { Transfer } from "./transfer_reducer.ts";

const REMOTE_MODULE = {
  tables: {},
  reducers: {
    transfer: {
      reducerName: "transfer",
      argsType: Transfer.getTypeScriptAlgebraicType(),
    },
  },
  versionInfo: { cliVersion: "1.2.0" },
  eventContextConstructor: (imp: DbConnectionImpl, event: Event<Reducer>) => ({ ...imp, event }),
  dbViewConstructor: () => new RemoteTables(),
  reducersConstructor: (imp: DbConnectionImpl, setReducerFlags: SetReducerFlags) =>
    new RemoteReducers(imp, setReducerFlags),
  setReducerFlagsConstructor: () => new SetReducerFlags(),
};

export type Reducer = { name: "transfer"; args?: Transfer };

export class RemoteTables {}

export class SetReducerFlags {
  transferFlags: CallReducerFlags = "FullUpdate";

  transfer(flags: CallReducerFlags): void {
    this.transferFlags = flags;
  }
}

export class RemoteReducers {
  readonly #connection: DbConnectionImpl;
  readonly #setCallReducerFlags: SetReducerFlags;

  constructor(connection: DbConnectionImpl, setCallReducerFlags: SetReducerFlags) {
    this.#connection = connection;
    this.#setCallReducerFlags = setCallReducerFlags;
  }

  transfer(from: number, to: number, amount: number): void {
    const writer = new BinaryWriter(1024);
    Transfer.getTypeScriptAlgebraicType().serialize(writer, { from, to, amount });
    this.#connection.callReducer("transfer", writer.getBuffer(), this.#setCallReducerFlags.transferFlags);
  }

  onTransfer(callback: (ctx: ReducerEventContext, from: number, to: number, amount: number) => void): void {
    this.#connection.onReducer("transfer", callback);
  }
}

export type ReducerEventContext = ReducerEventContextInterface<RemoteTables, RemoteReducers, SetReducerFlags, Reducer>;
export type SubscriptionEventContext = SubscriptionEventContextInterface<RemoteTables, RemoteReducers, SetReducerFlags>;
export type ErrorContext = ErrorContextInterface<RemoteTables, RemoteReducers, SetReducerFlags>;

export class DbConnection extends DbConnectionImpl<RemoteTables, RemoteReducers, SetReducerFlags> {
  static builder(): DbConnectionBuilder<DbConnection, ErrorContext, SubscriptionEventContext> {
    return new DbConnectionBuilder(REMOTE_MODULE, (imp) => imp as DbConnection);
  }
}
