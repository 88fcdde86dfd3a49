import assert from "node:assert/strict";
import { test } from "node:test";
import { listenOnBun } from "../bun.ts";
import { type Increment, parsers } from "../counter_and_messages.ts";
import { once, routes } from "../http.ts";
import { requestsOf } from "../operation.ts";

/** What a server of Bun was told; its `fetch` is called as Bun would. */
interface Told {
  readonly hostname: string;
  readonly port: number;
  readonly idleTimeout: number;
  fetch(incoming: Request): Promise<Response>;
}

function told(): Told {
  let options: Told | undefined;
  const Bun = { serve: (given: Told) => ((options = given), { port: 7, stop: () => undefined }) };
  Object.assign(globalThis, { Bun });
  const increment = async ({ counter }: Increment) => (counter === 0 ? "done" : "insufficient");
  const requests = requestsOf(parsers, { increment });
  assert.equal(listenOnBun(routes(requests), once, { host: "127.0.0.1", port: 0 }).port, 7);
  assert.ok(options);
  return options;
}

async function answer(path: string, init: RequestInit): Promise<[number, string | null, unknown]> {
  const response = await told().fetch(new Request(`http://127.0.0.1:7${path}`, init));
  return [response.status, response.headers.get("content-type"), await response.json()];
}

test("it listens where it is told and never ends a connection that rests", () => {
  const { hostname, port, idleTimeout } = told();
  assert.deepEqual({ hostname, port, idleTimeout }, { hostname: "127.0.0.1", port: 0, idleTimeout: 0 });
});

test("answers on Bun are those on Node.js", async () => {
  const post = (body: string) => ({ method: "POST", body });
  const json = "application/json";
  assert.deepEqual(await answer("/increment", post('{"counter":0,"amount":1}')), [200, json, { ok: true }]);
  assert.deepEqual(await answer("/increment", post('{"counter":1,"amount":1}')), [200, json, { ok: false, error: "insufficient" }]);
  assert.equal((await answer("/increment", post("{}")))[0], 400);
  assert.equal((await answer("/increment", { method: "GET" }))[0], 405);
  assert.equal((await answer("/never", post("{}")))[0], 404);
  assert.deepEqual(await answer("/health", { method: "GET" }), [200, json, { ok: true }]);
});
