import { createRequire } from "node:module";
import type { Client as UndiciClient, Dispatcher } from "undici";
import type { Fields } from "../fields.ts";
import { type Driver, hostAndPort, type Outcome, type Protocol } from "../protocol.ts";
import type { Operation, Operations } from "../workload.ts";
import { Request } from "./http/request.ts";

// The one class that is used takes 10 MB, the whole of undici 25.
const require = createRequire(import.meta.url);
const Client = require("undici/lib/dispatcher/client.js") as typeof UndiciClient;
const { kConnect } = require("undici/lib/core/symbols.js") as { readonly kConnect: symbol };

const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 600_000;

type Requests = ReadonlyMap<string, Request>;

export const protocol: Protocol = {
  target(endpoint, { workload, inFlight }) {
    const { address } = hostAndPort(endpoint);
    const requests = compile(endpoint.inside("requests"), workload);
    return {
      name: `http at ${address}`,
      createDriver: (onLost) => new HttpDriver(`http://${address}`, requests, inFlight, onLost),
    };
  },
};

function compile(requests: Fields, { kinds, refusals }: Operations): Requests {
  return new Map(
    Object.entries(kinds).map(([name, kind]) => [name, new Request(requests.inside(name), kind, refusals)]),
  );
}

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
  readonly #requests: Requests;
  readonly #pipelined: boolean;
  readonly #onLost: (error: Error) => void;

  constructor(origin: string, requests: Requests, inFlight: number, onLost: (error: Error) => void) {
    this.#requests = requests;
    this.#pipelined = inFlight > 1;
    this.#onLost = onLost;
    this.#client = new Client(origin, {
      pipelining: inFlight,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectTimeout: CONNECT_TIMEOUT_MS,
    });
    // undici would connect again and repeat what was out behind the oldest request: an operation made twice.
    this.#client.on("disconnect", (_origin, _targets, error) => this.#lose(error));
  }

  /** Connects: HTTP has no other handshake. undici does so of itself only when it has a request to send. */
  open(): Promise<void> {
    const client = this.#client as unknown as Readonly<Record<symbol, (connected: () => void) => void>>;
    return new Promise((resolve, reject) => {
      this.#client.once("connectionError", (_origin, _targets, error) => reject(error));
      client[kConnect]!(resolve);
    });
  }

  send(operation: Operation): Promise<Outcome> {
    const request = this.#requests.get(operation.kind)!;
    const sent = request.of(operation) as Dispatcher.DispatchOptions;
    // undici sends nothing behind a request that may block or must not be repeated; it is kept from repeating above.
    const options = this.#pipelined ? { ...sent, idempotent: true, blocking: false } : sent;
    return new Promise((resolve) => {
      const settle: Settle = (status, body) => resolve(request.judge.judge(status, body));
      // A lost socket fails its oldest request first, when destroying the client is still too early for undici.
      const onError = (error: Error) => queueMicrotask(() => this.#lose(error));
      this.#client.dispatch(options, new Answer(settle, onError));
    });
  }

  close(): void {
    void this.#client.destroy();
  }

  #lose(error: Error): void {
    this.close();
    this.#onLost(error);
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
