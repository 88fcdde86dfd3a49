import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { RequestError } from "./fields.ts";
import { type Attempt, DONE, type Outcome, type Request, type Requests } from "./operation.ts";

const BODY_MAX_CHARACTERS = 8192;
const OK = JSON.stringify({ ok: true });

export interface Answer {
  /** An error is the last attempt's. */
  readonly outcome: Outcome | { readonly error: unknown };
  readonly retries: number;
}

/** Runs an attempt, as often as the database's refusals ask for it. */
export type Run = (attempt: Attempt) => Answer | Promise<Answer>;

/** Runs an attempt once: for a database that refuses nothing for now. */
export const once: Run = (attempt) => {
  const outcome = attempt();
  return typeof outcome === "string"
    ? { outcome, retries: 0 }
    : outcome.then((settled) => ({ outcome: settled, retries: 0 }));
};

/** An answer as it is sent; the body is JSON. */
export interface Sent {
  readonly status: number;
  readonly body: string;
}

/** The request that a method and a path ask for, or what is sent where they ask for none. */
export type Route = (method: string | undefined, path: string | undefined) => Request | Sent;

/** POST /KIND is the request of that kind, GET /health says that the server is there. */
export function routes(requests: Requests): Route {
  const served = new Map(Object.entries(requests).map(([kind, request]) => [`/${kind}`, request]));
  const posts = [...served.keys()].map((path) => `POST ${path}`).join(", ");
  return (method, path = "") => {
    const request = served.get(path);
    if (request !== undefined && method === "POST") return request;
    if (path === "/health" && method === "GET") return { status: 200, body: OK };
    if (request !== undefined || path === "/health") return refused(405, `${method} ${path} is not served`);
    return refused(404, `${path} is not served; there are ${posts} and GET /health`);
  };
}

/** Runs a request; its answer is there at once where the operation ends at once, for waiting would put it off. */
export function answered(request: Request, run: Run, body: string): Sent | Promise<Sent> {
  try {
    if (body.length > BODY_MAX_CHARACTERS) throw new RequestError("the body is longer than a request can be");
    const answer = run(request(body));
    return answer instanceof Promise ? answer.then(sentOf, failed) : sentOf(answer);
  } catch (error) {
    return failed(error);
  }
}

/** A server of Node.js that answers requests; not yet listening. */
export function createRequestServer(requests: Requests, run: Run): Server {
  const route = routes(requests);
  const server = createServer((incoming, response) => {
    const found = route(incoming.method, incoming.url);
    if (typeof found === "function") answer(found, run, incoming, response);
    else send(response, found);
  });
  // A connection of the load may rest for longer than the default 5 s at a low offered load.
  server.keepAliveTimeout = 0;
  return server;
}

function answer(request: Request, run: Run, incoming: IncomingMessage, response: ServerResponse): void {
  let body = "";
  incoming.setEncoding("utf8");
  incoming.on("data", (chunk: string) => {
    if (body.length <= BODY_MAX_CHARACTERS) body += chunk;
  });
  incoming.on("end", () => {
    const sent = answered(request, run, body);
    if (sent instanceof Promise) void sent.then((late) => send(response, late));
    else send(response, sent);
  });
}

function sentOf({ outcome, retries }: Answer): Sent {
  if (typeof outcome !== "string") return refused(500, describe(outcome.error), retries);
  if (outcome !== DONE) return refused(200, outcome, retries);
  return { status: 200, body: retries === 0 ? OK : JSON.stringify({ ok: true, retries }) };
}

function failed(error: unknown): Sent {
  return error instanceof RequestError ? refused(400, error.message) : refused(500, describe(error));
}

/** `retries` is in the answer only if there were any. */
function refused(status: number, error: string, retries = 0): Sent {
  return { status, body: JSON.stringify(retries === 0 ? { ok: false, error } : { ok: false, error, retries }) };
}

function send(response: ServerResponse, { status, body }: Sent): void {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

/** What went wrong first: Drizzle wraps the database's words in its own. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
