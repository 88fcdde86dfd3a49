import { InternalError, SenderError } from "spacetimedb";
import { ACKNOWLEDGED, type Driver, errorOutcome, INSUFFICIENT, type Outcome } from "../../protocol.ts";
import type { Transfer } from "../../work.ts";
import { asError, type Login, NOTHING, requireRefused } from "./login.ts";
import { connectionBuilder, type DbConnection, transferBy } from "./module_bindings_2/index.ts";

/** A WebSocket of SpacetimeDB's own TypeScript SDK of 2.x: it matches answers to calls by their request id. */
export class DriverOfV2 implements Driver {
  readonly #login: Login;
  readonly #onLost: (error: Error) => void;
  #connection: DbConnection | undefined;
  #call: (transfer: Transfer) => Promise<void> = () => Promise.reject(new Error("the connection is not open"));

  constructor(login: Login, onLost: (error: Error) => void) {
    this.#login = login;
    this.#onLost = onLost;
  }

  /** Calls the reducer for a transfer of nothing, which it refuses. */
  async open(): Promise<void> {
    const { uri, database, token, confirmed, reducer, amount } = this.#login;
    await new Promise<void>((resolve, reject) => {
      const lose = (error: Error) => {
        reject(error);
        this.#onLost(error);
      };
      this.#connection = connectionBuilder(reducer, amount)
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
    this.#call = transferBy(this.#connection!, amount);
    requireRefused(await this.send(NOTHING));
  }

  send(transfer: Transfer): Promise<Outcome> {
    return this.#call(transfer).then(acknowledge, judge);
  }

  close(): void {
    this.#connection?.disconnect();
  }
}

const acknowledge = (): Outcome => ACKNOWLEDGED;

/** The reducer's own refusal, or the server's; anything else is a defect. */
function judge(error: unknown): Outcome {
  if (error instanceof SenderError) {
    return error.message === "insufficient" ? INSUFFICIENT : errorOutcome(error.message);
  }
  if (error instanceof InternalError) return errorOutcome(error.message);
  throw error;
}
