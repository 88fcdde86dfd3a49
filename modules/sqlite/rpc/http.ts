import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Operation } from "./operations/operation.ts";
import { parseTransfer, RequestError } from "./transfer_request.ts";

const BODY_MAX_CHARACTERS = 1024;
const OK = JSON.stringify({ ok: true });

/** An HTTP server that answers POST /transfer by one operation; not yet listening. */
export function createTransferServer(transfer: Operation): Server {
  const server = createServer((request, response) => {
    if (request.url === "/transfer" && request.method === "POST") {
      answerTransfer(transfer, request, response);
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

function answerTransfer(transfer: Operation, request: IncomingMessage, response: ServerResponse): void {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    if (body.length <= BODY_MAX_CHARACTERS) body += chunk;
  });
  request.on("end", () => {
    try {
      if (body.length > BODY_MAX_CHARACTERS) throw new RequestError("the body is longer than a transfer can be");
      const outcome = transfer(parseTransfer(body));
      if (outcome === "transferred") send(response, 200, OK);
      else refuse(response, 200, outcome);
    } catch (error) {
      if (error instanceof RequestError) refuse(response, 400, error.message);
      else refuse(response, 500, error instanceof Error ? error.message : String(error));
    }
  });
}

function refuse(response: ServerResponse, status: number, error: string): void {
  send(response, status, JSON.stringify({ ok: false, error }));
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}
