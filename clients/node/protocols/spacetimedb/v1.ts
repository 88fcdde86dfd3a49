import { EXIT_INTEGRITY, Failure } from "../../failure.ts";
import { ACKNOWLEDGED, type Driver, errorOutcome, type Outcome } from "../../protocol.ts";
import type { Operation } from "../../workload.ts";
import type { Argument, Arguments, ReducerCall } from "./calls.ts";
import { asError, type Login, NO_ARGUMENTS } from "./login.ts";
import { callerOf, type Connection, connectionBuilder, type Status } from "./module_bindings/index.ts";

interface CallOut {
  readonly call: ReducerCall;
  /** In the order of the reducer's parameters; null of a call without any. */
  readonly values: readonly Argument[] | null;
  readonly resolve: (outcome: Outcome) => void;
}

/**
 * The calls that are out on a connection, the oldest first.
 *
 * The SDK gives every call the request id 0 and reports an answer as an event of the reducer. The server runs
 * a connection's calls one after the other and answers in that order, so an event belongs to the oldest call,
 * and its arguments, which the server sends back, must be that call's.
 */
export class CallsOut {
  readonly #calls: CallOut[] = [];

  /** Without arguments the server sends back whatever it likes. */
  add(call: ReducerCall, given: Arguments | null): Promise<Outcome> {
    const values = given && Object.keys(call.types).map((field) => given[field]!);
    return new Promise((resolve) => this.#calls.push({ call, values, resolve }));
  }

  /** Throws a Failure when the answer fits no call. */
  answer(status: Status, reducer: string, values: readonly Argument[]): void {
    const oldest = this.#calls.shift();
    if (oldest === undefined || !fits(oldest, reducer, values)) {
      const due = oldest === undefined ? "none" : written(oldest.call.reducer, oldest.values ?? []);
      throw new Failure(EXIT_INTEGRITY, `SpacetimeDB answered ${written(reducer, values)} where ${due} was due`);
    }
    oldest.resolve(judge(status, oldest.call));
  }
}

function fits({ call, values: asked }: CallOut, reducer: string, values: readonly Argument[]): boolean {
  return call.reducer === reducer && (asked === null || asked.every((value, place) => value === values[place]));
}

function written(reducer: string, values: readonly Argument[]): string {
  return `${reducer}(${values.join(", ")})`;
}

/** A WebSocket of SpacetimeDB's own TypeScript SDK, the last one of v1. */
export class DriverOfV1 implements Driver {
  readonly #login: Login;
  readonly #onLost: (error: Error) => void;
  readonly #out = new CallsOut();
  readonly #senders = new Map<string, (operation: Operation) => Promise<Outcome>>();
  #connection: Connection | undefined;

  constructor(login: Login, onLost: (error: Error) => void) {
    this.#login = login;
    this.#onLost = onLost;
  }

  async open(): Promise<void> {
    const { uri, database, token, calls } = this.#login;
    const connection = await new Promise<Connection>((resolve, reject) => {
      const lose = (error: Error) => {
        reject(error);
        this.#onLost(error);
      };
      this.#connection = connectionBuilder(calls)
        .withUri(uri)
        .withModuleName(database)
        .withToken(token)
        .withCompression("none")
        .onConnect((opened) => resolve(opened))
        // The SDK reports every end of the WebSocket here.
        .onConnectError((_, event) => lose(asError(event)))
        .onDisconnect((_, event) => lose(asError(event)))
        .build();
    });
    for (const call of calls) await this.#bind(connection, call);
  }

  /** Finds out whether a reducer is there, and makes it callable. */
  async #bind(connection: Connection, call: ReducerCall): Promise<void> {
    connection.onReducer(call.reducer, ({ event }, ...values: Argument[]) => {
      try {
        this.#out.answer(event.status, call.reducer, values);
      } catch (error) {
        this.#onLost(error as Failure);
      }
    });
    const answer = this.#out.add(call, null);
    connection.callReducer(call.reducer, NO_ARGUMENTS, "FullUpdate");
    call.requireServed(await answer);
    const callReducer = callerOf(connection, call);
    this.#senders.set(call.kind, (operation) => {
      const given = call.argumentsOf(operation);
      const outcome = this.#out.add(call, given);
      callReducer(given);
      return outcome;
    });
  }

  send(operation: Operation): Promise<Outcome> {
    return this.#senders.get(operation.kind)!(operation);
  }

  close(): void {
    this.#connection?.disconnect();
  }
}

/** The status decides, not the arrival of an answer. */
function judge(status: Status, call: ReducerCall): Outcome {
  if (status.tag === "Committed") return ACKNOWLEDGED;
  if (status.tag === "OutOfEnergy") return errorOutcome("out of energy");
  return call.refusal(status.value);
}
