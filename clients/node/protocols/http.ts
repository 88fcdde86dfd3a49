import { createRequire } from "node:module";
import type { Client as UndiciClient, Dispatcher } from "undici";
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

// The one class that is used takes 10 MB, the whole of undici 25.
const require = createRequire(import.meta.url);
const Client = require("undici/lib/dispatcher/client.js") as typeof UndiciClient;

const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 600_000;
const KEPT_ERROR_CHARACTERS = 500;
const OK_BODY = '{"ok":true}';
const HEADERS = { "content-type": "application/json" };
const UNSERVED = [404, 405];
const RETRIES_MAX = 65_535;

export const protocol: Protocol = {
  keys: ["host", "port", "path"],
  target(endpoint, { inFlight }) {
    const { address } = hostAndPort(endpoint);
    const path = endpoint.has("path")
      ? endpoint.text("path", "a path that begins with /", (value) => value.startsWith("/"))
      : "/transfer";
    return {
      name: `http at ${address}`,
      createDriver: (onLost) => new HttpDriver(`http://${address}`, path, inFlight, onLost),
    };
  },
};

/** Called once for each request, in the order of the requests. */
type Settle = (status: number, body: string) => void;

/**
 * A TCP connection, kept alive.
 *
 * undici is the HTTP client inside Node's own fetch. Its dispatch cost 16 us of CPU a request where
 * node:http with an Agent cost 30, and it can pipeline, which is what in_flight above 1 means in HTTP/1.1.
 */
class HttpDriver implements Driver {
  readonly #client: UndiciClient;
  readonly #path: string;
  readonly #pipelined: boolean;
  readonly #onLost: (error: Error) => void;

  constructor(origin: string, path: string, inFlight: number, onLost: (error: Error) => void) {
    this.#path = path;
    this.#pipelined = inFlight > 1;
    this.#onLost = onLost;
    this.#client = new Client(origin, {
      pipelining: inFlight,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectTimeout: CONNECT_TIMEOUT_MS,
    });
    // undici would connect again and repeat what was out behind the oldest request: a transfer made twice.
    this.#client.on("disconnect", (_origin, _targets, error) => this.#lose(error));
  }

  /** Finds out whether the path is served by a transfer that names no accounts. */
  async open(): Promise<void> {
    const status = await new Promise<number>((resolve, reject) => this.#dispatch("{}", resolve, reject));
    if (UNSERVED.includes(status)) throw new Error(`POST ${this.#path} is not served (status ${status})`);
  }

  send({ source, destination, amount }: Transfer): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#dispatch(
        `{"from":${source},"to":${destination},"amount":${amount}}`,
        (status, body) => resolve(judge(status, body)),
        // A lost socket fails its oldest request first, when destroying the client is still too early for undici.
        (error) => queueMicrotask(() => this.#lose(error)),
      );
    });
  }

  close(): void {
    void this.#client.destroy();
  }

  #lose(error: Error): void {
    this.close();
    this.#onLost(error);
  }

  #dispatch(body: string, settle: Settle, onError: (error: Error) => void): void {
    const request = { method: "POST", path: this.#path, headers: HEADERS, body } as const;
    // undici sends nothing behind a request that may block or must not be repeated; it is kept from repeating above.
    const options = this.#pipelined ? { ...request, idempotent: true, blocking: false } : request;
    this.#client.dispatch(options, new Answer(settle, onError));
  }
}

/** Takes one answer. Without one the connection is of no more use: its answers would fit other requests. */
class Answer implements Dispatcher.DispatchHandler {
  readonly #settle: Settle;
  readonly #onError: (error: Error) => void;
  #status = 0;
  #body = "";

  constructor(settle: Settle, onError: (error: Error) => void) {
    this.#settle = settle;
    this.#onError = onError;
  }

  /** undici takes a handler without this for one of its former kind. */
  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#body += chunk.toString("utf8");
  }

  onResponseEnd(): void {
    this.#settle(this.#status, this.#body);
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#onError(error);
  }
}

/** Only the answers that the contract names are success or refusal. */
export function judge(status: number, body: string): Outcome {
  if (status === 200 && body === OK_BODY) return ACKNOWLEDGED;
  const refusal = errorOutcome(`status ${status}: ${body.slice(0, KEPT_ERROR_CHARACTERS)}`);
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    return refusal;
  }
  const { ok, error, retries = 0 } = (answer ?? {}) as { ok?: unknown; error?: unknown; retries?: unknown };
  if (typeof retries !== "number" || !Number.isInteger(retries) || retries < 0 || retries > RETRIES_MAX) return refusal;
  if (status === 200 && ok === true && error === undefined) return { ...ACKNOWLEDGED, retries };
  if (status === 200 && ok === false && error === "insufficient") return { ...INSUFFICIENT, retries };
  return { ...refusal, retries };
}
