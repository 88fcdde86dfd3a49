import type { Fields } from "./fields.ts";
import type { Verdict } from "./tally.ts";
import type { Transfer } from "./work.ts";

/** What the server said to one request. */
export interface Outcome {
  readonly verdict: Verdict;
  /** The server's words to an error, otherwise empty. */
  readonly text: string;
  /** How often the server says that it sent the request on again. */
  readonly retries: number;
}

export const ACKNOWLEDGED: Outcome = { verdict: "acknowledged", text: "", retries: 0 };
export const INSUFFICIENT: Outcome = { verdict: "insufficient", text: "", retries: 0 };
export const errorOutcome = (text: string): Outcome => ({ verdict: "error", text, retries: 0 });

/** One connection of the load, never opened twice. */
export interface Driver {
  /** Connects, logs in and finds out, untimed, whether a transfer is served. Rejects with what is in the way. */
  open(): Promise<void>;
  /**
   * One transfer, a transaction of its own; `onSentAgain` is called when it is about to be sent again. Rejects when
   * its answer is lost and the connection with it; a Failure ends the client.
   */
  send(transfer: Transfer, onSentAgain: () => void): Promise<Outcome>;
  /** Answers that are still out are of no interest any more. */
  close(): void;
}

/** An endpoint that was found in order; `name` is for messages. */
export interface Target {
  readonly name: string;
  /** An engine inside this process answers within the call: its connections take turns, one request out in all. */
  readonly inProcess?: boolean;
  /** What the engine inside this process says of itself: its version and its settings, read back. */
  engine?(): Record<string, string>;
  /** What the connections agreed on with the server; asked once they are open. */
  agreed?(): Record<string, string>;
  /** `onLost` tells of a connection that broke, also when it was idle. */
  createDriver(onLost: (error: Error) => void): Driver;
}

/** What the load asks of a protocol beside its endpoint. */
export interface Demand {
  readonly inFlight: number;
  readonly maxRetries: number;
  /** Refuses a key of the configuration by its name. */
  refused(key: string, allowed: string): Error;
}

export interface Protocol {
  /** The keys of its endpoint. */
  readonly keys: readonly string[];
  /** Checks endpoint and demand; connects to nothing. */
  target(endpoint: Fields, demand: Demand): Target;
}

const LOADERS: Record<string, () => Promise<{ protocol: Protocol }>> = {
  http: () => import("./protocols/http.ts"),
  postgres: () => import("./protocols/postgres.ts"),
  spacetimedb: () => import("./protocols/spacetimedb.ts"),
  sqlite: () => import("./protocols/sqlite.ts"),
};

export const protocolNames: readonly string[] = Object.keys(LOADERS);

/** Loads one protocol and what it depends on; the others cost no memory. */
export async function loadProtocol(name: string): Promise<Protocol> {
  return (await LOADERS[name]!()).protocol;
}

export function hostAndPort(endpoint: Fields): { host: string; port: number; address: string } {
  const host = endpoint.text("host");
  const port = endpoint.integer("port", 1, 65_535);
  return { host, port, address: `${host.includes(":") ? `[${host}]` : host}:${port}` };
}
