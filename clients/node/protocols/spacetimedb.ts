import { EXIT_INTEGRITY, Failure } from "../failure.ts";
import { emit } from "../progress.ts";
import {
  ACKNOWLEDGED,
  type Driver,
  errorOutcome,
  hostAndPort,
  INSUFFICIENT,
  type Outcome,
  type Protocol,
} from "../protocol.ts";
import type { Transfer } from "../work.ts";
import { DbConnection, type ReducerEventContext } from "./spacetimedb/module_bindings/index.ts";

const HEADER_WORD = /^[!-~]+$/;
const NOTHING: Transfer = { source: 0, destination: 0, amount: 0 };

export const protocol: Protocol = {
  keys: ["host", "port", "database", "token"],
  target(endpoint) {
    const { address } = hostAndPort(endpoint);
    const word = (key: string) => endpoint.text(key, "printable ASCII without spaces", (value) => HEADER_WORD.test(value));
    const login = { uri: `http://${address}`, database: word("database"), token: word("token") };
    keepStandardOutput();
    return {
      name: `spacetimedb at ${address}`,
      createDriver: (onLost) => new SpacetimeDriver(login, onLost),
    };
  },
};

interface Login {
  readonly uri: string;
  readonly database: string;
  readonly token: string;
}

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

/** A WebSocket of SpacetimeDB's own TypeScript SDK. */
class SpacetimeDriver implements Driver {
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
    const { verdict } = await this.send(NOTHING);
    if (verdict !== "error") throw new Error(`a transfer of nothing is ${verdict}; publish the module`);
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

/** The SDK passes on what its WebSocket said: an error, or an event that may have no words. */
function asError(event: unknown): Error {
  if (event instanceof Error) return event;
  const { code, reason, error } = (event ?? {}) as { code?: number; reason?: string; error?: Error };
  const words = [code && `code ${code}`, reason, error?.message].filter(Boolean).join(", ");
  return new Error(`the WebSocket did not open, or closed${words && ` (${words})`}; is the database published?`);
}

/** The SDK writes to the console; standard output is for the report, and its greetings are for nobody. */
function keepStandardOutput(): void {
  const log = (...words: unknown[]) => {
    const message = String(words[0]);
    if (!message.includes(" INFO%c")) emit("sdk", { message });
  };
  Object.assign(console, { log, info: log, debug: log, warn: log, error: log });
}
