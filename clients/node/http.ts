import { Client, type Dispatcher } from "undici";
import type { Endpoint } from "./config.ts";
import { EXIT_ENDPOINT, Failure, messageOf } from "./failure.ts";
import type { Verdict } from "./tally.ts";
import type { Transfer } from "./work.ts";

const HANDSHAKE_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 600_000;
const KEPT_ERROR_CHARACTERS = 500;
const OK_BODY = '{"ok":true}';
const HEADERS = { "content-type": "application/json" };

/** Called once for each request, in the order of the requests; `text` is the server's answer to an error. */
export type Settle = (verdict: Verdict, text: string) => void;

/**
 * One connection of the load: one TCP connection, kept alive, never opened twice.
 *
 * undici is the HTTP client inside Node's own fetch. Its dispatch cost 16 us of CPU a request where
 * node:http with an Agent cost 30, and it can pipeline, which is what in_flight above 1 means in HTTP/1.1.
 */
export class HttpConnection {
  readonly #client: Client;
  readonly #endpoint: Endpoint;
  readonly #pipelined: boolean;
  readonly #onLost: (reason: string) => void;
  #closed = false;

  /** `onLost` is called at most once, never after `close`. */
  constructor(endpoint: Endpoint, inFlight: number, onLost: (reason: string) => void) {
    this.#endpoint = endpoint;
    this.#pipelined = inFlight > 1;
    this.#onLost = onLost;
    const host = endpoint.host.includes(":") ? `[${endpoint.host}]` : endpoint.host;
    this.#client = new Client(`http://${host}:${endpoint.port}`, {
      pipelining: inFlight,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectTimeout: HANDSHAKE_TIMEOUT_MS,
    });
    // undici would connect again and repeat what was out behind the oldest request: a transfer made twice.
    this.#client.on("disconnect", (_origin, _targets, error) => this.#lose(error));
  }

  /** Connects, and finds out whether the path is served by a transfer that names no accounts. */
  async open(): Promise<void> {
    const { host, port, path } = this.#endpoint;
    let statusCode: number;
    try {
      const response = await this.#client.request({
        ...this.#request("{}"),
        signal: AbortSignal.timeout(HANDSHAKE_TIMEOUT_MS),
      });
      await response.body.dump();
      statusCode = response.statusCode;
    } catch (error) {
      throw new Failure(EXIT_ENDPOINT, `http at ${host}:${port}: ${messageOf(error)}`);
    }
    if (statusCode === 404 || statusCode === 405) {
      throw new Failure(EXIT_ENDPOINT, `http at ${host}:${port}: POST ${path} is not served (status ${statusCode})`);
    }
  }

  send({ source, destination, amount }: Transfer, settle: Settle): void {
    const body = `{"from":${source},"to":${destination},"amount":${amount}}`;
    // A lost socket fails its oldest request first, when destroying the client would still be too early for undici.
    const onError = (error: Error) => queueMicrotask(() => this.#lose(error));
    this.#client.dispatch(this.#request(body), new Answer(settle, onError));
  }

  close(): void {
    this.#closed = true;
    void this.#client.destroy();
  }

  #lose(error: Error): void {
    if (this.#closed) return;
    this.close();
    this.#onLost(messageOf(error));
  }

  #request(body: string) {
    const { path } = this.#endpoint;
    const request = { method: "POST", path, headers: HEADERS, body } as const;
    // undici sends nothing behind a request that may block or must not be repeated; it is kept from repeating above.
    return this.#pipelined ? { ...request, idempotent: true, blocking: false } : request;
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
    const verdict = judge(this.#status, this.#body);
    this.#settle(verdict, verdict === "error" ? this.#text() : "");
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#onError(error);
  }

  #text(): string {
    return `status ${this.#status}: ${this.#body.slice(0, KEPT_ERROR_CHARACTERS)}`;
  }
}

/** Only the answers that the contract names are success or refusal. */
export function judge(status: number, body: string): Verdict {
  if (status !== 200) return "error";
  if (body === OK_BODY) return "acknowledged";
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    return "error";
  }
  const { ok, error } = (answer ?? {}) as { ok?: unknown; error?: unknown };
  if (ok === true && error === undefined) return "acknowledged";
  return ok === false && error === "insufficient" ? "insufficient" : "error";
}
