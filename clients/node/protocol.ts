import { DONE } from "../../modules/shared/node/operation.ts";
import type { Fields } from "./fields.ts";
import { modulesIn } from "./folder.ts";
import type { Operation, Operations, Workload } from "./workload.ts";

/** What the server said to one request. */
export interface Outcome {
  /** The refusal by its name (`error`, where the workload knows none for it); null of what is acknowledged. */
  readonly refusal: string | null;
  /** The server's words to an error, otherwise empty. */
  readonly text: string;
  /** How often the server says that it sent the request on again. */
  readonly retries: number;
}

export const ERROR = "error";
export const ACKNOWLEDGED: Outcome = { refusal: null, text: "", retries: 0 };
export const errorOutcome = (text: string): Outcome => ({ refusal: ERROR, text, retries: 0 });
export const refusedAs = (refusal: string): Outcome => ({ refusal, text: "", retries: 0 });

/** What the operation of a module, made in this process, answered. */
export const outcomeOf = (answer: string): Outcome => (answer === DONE ? ACKNOWLEDGED : refusedAs(answer));

/** What a server's words mean: a refusal, if they are its name and nothing else. */
export function refusalOutcome({ refusals }: Operations, words: string): Outcome {
  return refusals.includes(words) ? refusedAs(words) : errorOutcome(words);
}

/** One connection of the load, never opened twice. */
export interface Driver {
  /** Connects, logs in and finds out, untimed, whether the operations are served. Rejects with what is in the way. */
  open(): Promise<void>;
  /**
   * One operation, a transaction of its own; `onSentAgain` is called when it is about to be sent again. Rejects when
   * its answer is lost and the connection with it; a Failure ends the client.
   */
  send(operation: Operation, onSentAgain: () => void): Promise<Outcome>;
  /** Answers that are still out are of no interest any more. */
  close(): void;
}

/** An endpoint that was found in order; `name` is for messages. */
export interface Target {
  readonly name: string;
  /** Folders of the project whose operations run in this process, as they do in a server that it stands in for. */
  readonly borrowed?: readonly string[];
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
  readonly workload: Operations & Pick<Workload, "name">;
  readonly inFlight: number;
  readonly maxRetries: number;
  /** Refuses a key of the configuration by its name. */
  refused(key: string, allowed: string): Error;
  /** Refuses the workload by its name. */
  refusedWorkload(allowed: string): Error;
}

/** A file in `protocols/` exports one as `protocol`. */
export interface Protocol {
  /** Reads the endpoint and refuses a demand that cannot be met; connects to nothing. */
  target(endpoint: Fields, demand: Demand): Target;
}

export const protocolNames: readonly string[] = modulesIn("protocols");

/** Loads one protocol and what it depends on; the others cost no memory. */
export async function loadProtocol(name: string): Promise<Protocol> {
  const { protocol } = (await import(`./protocols/${name}.ts`)) as { protocol: Protocol };
  return protocol;
}

export function hostAndPort(endpoint: Fields): { host: string; port: number; address: string } {
  const host = endpoint.text("host");
  const port = endpoint.integer("port");
  return { host, port, address: `${host.includes(":") ? `[${host}]` : host}:${port}` };
}

/**
 * What each kind of the workload is called by: `many` names them by kind, `one` is short for it where there is one
 * kind, and by default each has its own name.
 */
export function namesByKind(endpoint: Fields, one: string, many: string, { kinds }: Operations): Record<string, string> {
  const names = Object.keys(kinds);
  if (endpoint.has(one) && (names.length > 1 || endpoint.has(many))) {
    throw endpoint.refused(one, `no ${one} beside ${many}, nor for a workload of several kinds`);
  }
  const given = endpoint.has(many) ? endpoint.inside(many) : undefined;
  for (const key of given?.keys ?? []) {
    if (!names.includes(key)) throw given!.refused(key, `a name for each of ${names.join(", ")}`);
  }
  const nameOf = (kind: string) => {
    if (endpoint.has(one)) return endpoint.text(one);
    return given?.has(kind) ? given.text(kind) : kind;
  };
  return Object.fromEntries(names.map((kind) => [kind, nameOf(kind)]));
}
