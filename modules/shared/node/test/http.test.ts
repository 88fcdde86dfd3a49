import assert from "node:assert/strict";
import { once as event } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { type Increment, parseIncrement } from "../counter_and_messages.ts";
import { createRequestServer, once } from "../http.ts";
import { requestsOf } from "../operation.ts";

/** Ends of an operation that each counter stands for. */
const server = createRequestServer(
  requestsOf(
    { now: parseIncrement, later: parseIncrement },
    { now: ({ counter }: Increment) => ended(counter), later: async ({ counter }: Increment) => ended(counter) },
  ),
  once,
);
let url = "";

function ended(counter: number): string {
  if (counter === 0) return "done";
  if (counter === 1) return "insufficient";
  throw new Error("outer", { cause: new Error("the database's words") });
}

before(async () => {
  server.listen(0, "127.0.0.1");
  await event(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});

async function post(path: string, body: string): Promise<[number, unknown]> {
  const answer = await fetch(`${url}${path}`, { method: "POST", body });
  return [answer.status, await answer.json()];
}

for (const kind of ["now", "later"]) {
  test(`every end of an operation that settles ${kind} has its answer`, async () => {
    assert.deepEqual(await post(`/${kind}`, '{"counter":0,"amount":1}'), [200, { ok: true }]);
    assert.deepEqual(await post(`/${kind}`, '{"counter":1,"amount":1}'), [200, { ok: false, error: "insufficient" }]);
    assert.deepEqual(await post(`/${kind}`, '{"counter":2,"amount":1}'), [500, { ok: false, error: "the database's words" }]);
    const [status, refusal] = await post(`/${kind}`, "{}");
    assert.equal(status, 400);
    assert.match(JSON.stringify(refusal), /counter: nothing/);
  });
}

test("an operation whose request nobody reads is not served", () => {
  assert.throws(() => requestsOf({ now: parseIncrement }, { later: () => "done" }), /whose request nobody reads/);
});

test("a body without end is refused", async () => {
  const [status, refusal] = await post("/now", " ".repeat(10_000));
  assert.equal(status, 400);
  assert.match(JSON.stringify(refusal), /longer than a request/);
});

test("other paths and methods are refused by name", async () => {
  const [status, refusal] = await post("/never", "{}");
  assert.equal(status, 404);
  assert.match(JSON.stringify(refusal), /POST \/now, POST \/later and GET \/health/);
  assert.equal((await fetch(`${url}/now`)).status, 405);
  assert.equal((await fetch(`${url}/health`)).status, 200);
});
