// What `spacetime generate --lang typescript` of 1.x writes for the reducers of a module, built from the kinds of a
// workload because that program is not everywhere, and without the tables and reducers that a load does not touch.
import {
  AlgebraicType,
  BinaryWriter,
  DbConnectionBuilder,
  type DbConnectionImpl,
  type ErrorContextInterface,
  type Event,
  ProductTypeElement,
  type ReducerEventContextInterface,
  type SubscriptionEventContextInterface,
} from "@clockworklabs/spacetimedb-sdk";
import type { Arguments, ArgumentType, ReducerCall } from "../calls.ts";

export type Connection = DbConnectionImpl;
export type Status = ReducerEventContextInterface["event"]["status"];

const TYPES: Record<ArgumentType, () => AlgebraicType> = {
  u32: () => AlgebraicType.createU32Type(),
  u64: () => AlgebraicType.createU64Type(),
  i64: () => AlgebraicType.createI64Type(),
  string: () => AlgebraicType.createStringType(),
};

export function argumentsType({ types }: ReducerCall): AlgebraicType {
  const elements = Object.entries(types).map(([name, type]) => new ProductTypeElement(name, TYPES[type]()));
  return AlgebraicType.createProductType(elements);
}

/** The answer to a call without arguments sends none back; the SDK would keep an answer to itself that it cannot read. */
function leniently(type: AlgebraicType): AlgebraicType {
  const read = type.deserialize.bind(type);
  type.deserialize = (reader) => {
    try {
      return read(reader);
    } catch (error) {
      if (error instanceof RangeError) return {};
      throw error;
    }
  };
  return type;
}

export function connectionBuilder(
  calls: readonly ReducerCall[],
): DbConnectionBuilder<Connection, ErrorContextInterface, SubscriptionEventContextInterface> {
  const module = {
    tables: {},
    reducers: Object.fromEntries(
      calls.map((call) => [call.reducer, { reducerName: call.reducer, argsType: leniently(argumentsType(call)) }]),
    ),
    versionInfo: { cliVersion: "1.2.0" },
    eventContextConstructor: (connection: Connection, event: Event<never>) => ({ ...connection, event }),
    dbViewConstructor: () => ({}),
    reducersConstructor: () => ({}),
    setReducerFlagsConstructor: () => ({}),
  };
  return new DbConnectionBuilder(module, (connection) => connection);
}

/** Calls a reducer, of which the SDK tells by an event. */
export function callerOf(connection: Connection, call: ReducerCall): (given: Arguments) => void {
  const type = argumentsType(call);
  return (given) => {
    const writer = new BinaryWriter(1024);
    type.serialize(writer, given);
    connection.callReducer(call.reducer, writer.getBuffer(), "FullUpdate");
  };
}
