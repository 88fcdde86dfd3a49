import { EXIT_INTEGRITY, Failure } from "../../failure.ts";
import { ACKNOWLEDGED, type Driver, errorOutcome, INSUFFICIENT, type Outcome } from "../../protocol.ts";
import type { Transfer } from "../../work.ts";
import { asError, type Login, NOTHING, requireRefused } from "./login.ts";
import { DbConnection, type ReducerEventContext } from "./module_bindings/index.ts";

type Status = ReducerEventContext["event"]["status"];

/**
 * The calls that are out on a connection, the oldest first.
 *
 * The SDK gives every call the request id 0 and reports an answer as an event of the reducer. The server runs
 * a connection's calls one after the other and answers in that order, so an event belongs to the oldest call,
 * and its arguments, which the server sends back, must be that call's.
 */
export class CallsOut {
  readonly #calls: { readonly transfer: Transfer; readonly resolve: (outcome: Outcome) => void }[] = [];

  add(transfer: Transfer): Promise<Outcome> {
    return new Promise((resolve) => this.#calls.push({ transfer, resolve }));
  }

  /** Throws a Failure when the answer fits no call. */
  answer(status: Status, from: number, to: number, amount: number): void {
    const call = this.#calls.shift();
    const { source, destination, amount: asked } = call?.transfer ?? NOTHING;
    if (call === undefined || from !== source || to !== destination || amount !== asked) {
      const due = call === undefined ? "none" : `transfer(${source}, ${destination}, ${asked})`;
      const answered = `transfer(${from}, ${to}, ${amount})`;
      throw new Failure(EXIT_INTEGRITY, `SpacetimeDB answered ${answered} where ${due} was due`);
    }
    call.resolve(judge(status));
  }
}

/** A WebSocket of SpacetimeDB's own TypeScript SDK, the last one of v1. */
export class DriverOfV1 implements Driver {
  readonly #login: Login;
  readonly #onLost: (error: Error) => void;
  readonly #calls = new CallsOut();
  #connection: DbConnection | undefined;

  constructor(login: Login, onLost: (error: Error) => void) {
    this.#login = login;
    this.#onLost = onLost;
  }

  /** Calls the reducer for a transfer of nothing, which it refuses. */
  async open(): Promise<void> {
    const { uri, database, token } = this.#login;
    await new Promise<void>((resolve, reject) => {
      const lose = (error: Error) => {
        reject(error);
        this.#onLost(error);
      };
      this.#connection = DbConnection.builder()
        .withUri(uri)
        .withModuleName(database)
        .withToken(token)
        .withCompression("none")
        .onConnect(() => resolve())
        // The SDK reports every end of the WebSocket here.
        .onConnectError((_, event) => lose(asError(event)))
        .onDisconnect((_, event) => lose(asError(event)))
        .build();
    });
    this.#connection!.reducers.onTransfer(({ event }, from, to, amount) => {
      try {
        this.#calls.answer(event.status, from, to, amount);
      } catch (error) {
        this.#onLost(error as Failure);
      }
    });
    requireRefused(await this.send(NOTHING));
  }

  send(transfer: Transfer): Promise<Outcome> {
    const answer = this.#calls.add(transfer);
    this.#connection!.reducers.transfer(transfer.source, transfer.destination, transfer.amount);
    return answer;
  }

  close(): void {
    this.#connection?.disconnect();
  }
}

/** The status decides, not the arrival of an answer. */
function judge(status: Status): Outcome {
  if (status.tag === "Committed") return ACKNOWLEDGED;
  if (status.tag === "OutOfEnergy") return errorOutcome("out of energy");
  return status.value === "insufficient" ? INSUFFICIENT : errorOutcome(status.value);
}
