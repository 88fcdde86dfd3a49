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

/** An HTTP server that answers POST /KIND by the request of that kind; not yet listening. */
export function createRequestServer(requests: Requests, run: Run): Server {
  const served = new Map(Object.entries(requests).map(([kind, request]) => [`/${kind}`, request]));
  const posts = [...served.keys()].map((path) => `POST ${path}`).join(", ");
  const server = createServer((incoming, response) => {
    const request = served.get(incoming.url ?? "");
    if (request !== undefined && incoming.method === "POST") {
      answer(request, run, incoming, response);
    } else if (incoming.url === "/health" && incoming.method === "GET") {
      send(response, 200, OK);
    } else if (request !== undefined || incoming.url === "/health") {
      refuse(response, 405, `${incoming.method} ${incoming.url} is not served`);
    } else {
      refuse(response, 404, `${incoming.url} is not served; there are ${posts} and GET /health`);
    }
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
    try {
      if (body.length > BODY_MAX_CHARACTERS) throw new RequestError("the body is longer than a request can be");
      // An engine inside this process has its answer now; waiting for a promise would put it off.
      const answered = run(request(body));
      if (answered instanceof Promise) answered.then((late) => reply(response, late), (error) => fail(response, error));
      else reply(response, answered);
    } catch (error) {
      fail(response, error);
    }
  });
}

function reply(response: ServerResponse, { outcome, retries }: Answer): void {
  if (typeof outcome !== "string") refuse(response, 500, describe(outcome.error), retries);
  else if (outcome === DONE) send(response, 200, retries === 0 ? OK : JSON.stringify({ ok: true, retries }));
  else refuse(response, 200, outcome, retries);
}

function fail(response: ServerResponse, error: unknown): void {
  if (error instanceof RequestError) refuse(response, 400, error.message);
  else refuse(response, 500, describe(error));
}

/** `retries` is in the answer only if there were any. */
function refuse(response: ServerResponse, status: number, error: string, retries = 0): void {
  send(response, status, JSON.stringify(retries === 0 ? { ok: false, error } : { ok: false, error, retries }));
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

/** What went wrong first: Drizzle wraps the database's words in its own. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
