import { InternalError, SenderError } from "spacetimedb";
import { ACKNOWLEDGED, type Driver, errorOutcome, type Outcome } from "../../protocol.ts";
import type { Operation } from "../../workload.ts";
import type { ReducerCall } from "./calls.ts";
import { asError, type Login, NO_ARGUMENTS } from "./login.ts";
import { callerOf, connectionBuilder, type DbConnection } from "./module_bindings_2/index.ts";

const acknowledge = (): Outcome => ACKNOWLEDGED;

/** A WebSocket of SpacetimeDB's own TypeScript SDK of 2.x: it matches answers to calls by their request id. */
export class DriverOfV2 implements Driver {
  readonly #login: Login;
  readonly #onLost: (error: Error) => void;
  readonly #senders = new Map<string, (operation: Operation) => Promise<Outcome>>();
  #connection: DbConnection | undefined;

  constructor(login: Login, onLost: (error: Error) => void) {
    this.#login = login;
    this.#onLost = onLost;
  }

  async open(): Promise<void> {
    const { uri, database, token, confirmed, calls } = this.#login;
    await new Promise<void>((resolve, reject) => {
      const lose = (error: Error) => {
        reject(error);
        this.#onLost(error);
      };
      this.#connection = connectionBuilder(calls)
        .withUri(uri)
        .withDatabaseName(database)
        .withToken(token)
        .withCompression("none")
        .withConfirmedReads(confirmed)
        .onConnect(() => resolve())
        .onConnectError((_, error) => lose(asError(error)))
        .onDisconnect((_, error) => lose(asError(error)))
        .build();
    });
    for (const call of calls) await this.#bind(this.#connection!, call);
  }

  /** Finds out whether a reducer is there, and makes it callable. */
  async #bind(connection: DbConnection, call: ReducerCall): Promise<void> {
    const refuse = (error: unknown) => judge(error, call);
    call.requireServed(await connection.callReducer(call.reducer, NO_ARGUMENTS).then(acknowledge, refuse));
    const callReducer = callerOf(connection, call);
    this.#senders.set(call.kind, (operation) => callReducer(call.argumentsOf(operation)).then(acknowledge, refuse));
  }

  send(operation: Operation): Promise<Outcome> {
    return this.#senders.get(operation.kind)!(operation);
  }

  close(): void {
    this.#connection?.disconnect();
  }
}

/** The reducer's own refusal, or the server's; anything else is a defect. */
function judge(error: unknown, call: ReducerCall): Outcome {
  if (error instanceof SenderError) return call.refusal(error.message);
  if (error instanceof InternalError) return errorOutcome(error.message);
  throw error;
}
