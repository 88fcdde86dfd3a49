import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** Answers a request of the web's own kind. */
export type Answer = (request: Request) => Promise<Response>;

/** A server of Node.js that hands its requests over as those of the web; not yet listening. */
export function createWebServer(answer: Answer): Server {
  const server = createServer((incoming, response) => {
    serve(answer, incoming, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(error instanceof Error ? error.message : String(error));
    });
  });
  // A connection of the load may rest for longer than the default 5 s at a low offered load.
  server.keepAliveTimeout = 0;
  return server;
}

async function serve(answer: Answer, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "GET", url = "/", headers } = incoming;
  const body = method === "GET" || method === "HEAD" ? undefined : await text(incoming);
  const told = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  const request = new Request(`http://${headers.host ?? "localhost"}${url}`, {
    method,
    headers: told,
    ...(body === undefined ? {} : { body }),
  });
  const answered = await answer(request);
  const content = Buffer.from(await answered.arrayBuffer());
  response.writeHead(answered.status, {
    ...Object.fromEntries(answered.headers),
    "content-length": content.length,
  });
  response.end(content);
}

function text(incoming: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let body = "";
    incoming.setEncoding("utf8");
    incoming.on("data", (chunk: string) => (body += chunk));
    incoming.on("end", () => resolve(body));
    incoming.on("error", reject);
  });
}
