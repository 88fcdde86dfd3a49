import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Operation } from "./operations/operation.ts";
import { attempt } from "./retry.ts";
import { parseTransfer, RequestError } from "./transfer_request.ts";

const BODY_MAX_CHARACTERS = 1024;
const OK = JSON.stringify({ ok: true });

/** An HTTP server that answers POST /transfer by one operation; not yet listening. */
export function createTransferServer(transfer: Operation, maxRetries: number): Server {
  const server = createServer((request, response) => {
    if (request.url === "/transfer" && request.method === "POST") {
      answerTransfer(transfer, maxRetries, request, response);
    } else if (request.url === "/health" && request.method === "GET") {
      send(response, 200, OK);
    } else if (request.url === "/transfer" || request.url === "/health") {
      refuse(response, 405, `${request.method} ${request.url} is not served`);
    } else {
      refuse(response, 404, `${request.url} is not served; there are POST /transfer and GET /health`);
    }
  });
  // A connection of the load may rest for longer than the default 5 s at a low offered load.
  server.keepAliveTimeout = 0;
  return server;
}

function answerTransfer(
  transfer: Operation,
  maxRetries: number,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    if (body.length <= BODY_MAX_CHARACTERS) body += chunk;
  });
  request.on("end", async () => {
    try {
      if (body.length > BODY_MAX_CHARACTERS) throw new RequestError("the body is longer than a transfer can be");
      const { outcome, retries } = await attempt(transfer, parseTransfer(body), maxRetries);
      if (outcome === "transferred") send(response, 200, retries === 0 ? OK : JSON.stringify({ ok: true, retries }));
      else if (outcome === "insufficient") refuse(response, 200, outcome, retries);
      else refuse(response, 500, describe(outcome.error), retries);
    } catch (error) {
      if (error instanceof RequestError) refuse(response, 400, error.message);
      else refuse(response, 500, describe(error));
    }
  });
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
