import { answered, type Route, type Run } from "./http.ts";

/** What is used of Bun's own HTTP server. */
interface BunRuntime {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly idleTimeout: number;
    fetch(incoming: Request): Promise<Response>;
  }): BunServer;
}

interface BunServer {
  readonly port: number;
  stop(closeActiveConnections: boolean): unknown;
}

/** Answers requests with the HTTP server of Bun, which is another than the one that it has in place of node:http. */
export function listenOnBun(route: Route, run: Run, { host, port }: { readonly host: string; readonly port: number }): BunServer {
  const { Bun } = globalThis as unknown as { readonly Bun: BunRuntime };
  return Bun.serve({
    hostname: host,
    port,
    // A connection of the load may rest for longer than the default 10 s at a low offered load.
    idleTimeout: 0,
    async fetch(incoming) {
      const found = route(incoming.method, new URL(incoming.url).pathname);
      const { status, body } = typeof found === "function" ? await answered(found, run, await incoming.text()) : found;
      return new Response(body, { status, headers: { "content-type": "application/json" } });
    },
  });
}
