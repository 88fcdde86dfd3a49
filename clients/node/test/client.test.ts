import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { decodeFromCompressedBase64 } from "hdr-histogram-js";
import { vector } from "./golden.ts";
import { attemptedInTime, configuration as anyConfiguration, load, run, transfers } from "./run.ts";

const success = { json: { ok: true } };
const requests = {
  transfer: {
    method: "POST",
    path: "/transfer",
    body: '{{"from":{from},"to":{to},"amount":{amount}}',
    success,
    refusals: { insufficient: { json: { ok: false, error: "insufficient" } } },
    retries: "retries",
  },
};

const configuration = (port: number, changed: object = {}) =>
  anyConfiguration({ protocol: "http", host: "127.0.0.1", port, requests }, changed);

/** A server whose answers the test chooses; `bodies` holds what it was asked, by TCP connection. */
async function serve(context: TestContext, answer: RequestListener) {
  const bodies = new Map<number, string[]>();
  const server: Server = createServer(async (request, response) => {
    const body = await text(request);
    const asked = bodies.get(request.socket.remotePort!) ?? [];
    bodies.set(request.socket.remotePort!, [...asked, body]);
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, bodies };
}

test("every connection sends its own operations in order, and the report adds up", async (context) => {
  const { port, bodies } = await serve(context, (_, response) => response.end('{"ok":true}'));
  const { report, events } = await load(configuration(port));
  assert.equal(bodies.size, 3);
  const asked = [...bodies.values()].map((sent) => sent.slice(0, 5));
  const expected = transfers.operations
    .slice(0, 5)
    .map(([, from, to, amount]) => JSON.stringify({ from, to, amount }));
  assert.ok(asked.some((sent) => JSON.stringify(sent) === JSON.stringify(expected)));

  const issued = report.connections.map((connection: { issued: number }) => connection.issued);
  assert.deepEqual(report.connections.map((c: { connection: number }) => c.connection), [7, 8, 9]);
  assert.equal(issued.reduce((sum: number, count: number) => sum + count), report.attempted);
  assert.equal([...bodies.values()].flat().length, report.attempted);
  assert.equal(report.acknowledged, report.attempted);
  for (const series of [report.per_second, report.per_100ms]) {
    assert.equal(series.reduce((sum: number, count: number) => sum + count), report.acknowledged);
  }
  const { window } = report;
  assert.equal(window.goodput_per_s, window.acknowledged / 0.5);
  assert.ok(window.mean_in_flight > 0 && window.mean_in_flight <= 3, `${window.mean_in_flight} in flight`);
  assert.equal(decodeFromCompressedBase64(report.service_time_ns).totalCount, window.acknowledged);
  assert.equal(report.response_time_ns, report.service_time_ns);
  const named = events.map(({ event }) => event).filter((event) => event !== "progress");
  assert.deepEqual(named, ["ready", "window_start", "window_end"]);
});

test("the clock starts at the moment that was asked for, and never at one that is past", async (context) => {
  const { port } = await serve(context, (_, response) => response.end('{"ok":true}'));
  const asked = Date.now() / 1000 + 2;
  const { report } = await load(configuration(port, { start_unix_s: asked }));
  assert.equal(report.started_unix_s, asked);
  assert.ok(Date.now() / 1000 >= asked + 0.7);
  assert.ok(report.acknowledged > 0);
  const { code, events } = await run(configuration(port, { start_unix_s: Date.now() / 1000 - 0.1 }));
  assert.equal(code, 2);
  assert.match(events.at(-1)!.message, /^start_unix_s: /);
});

test("the status is read, not the arrival of an answer", async (context) => {
  const answers: [number, string][] = [
    [200, '{"ok":true}'],
    [200, '{"ok":false,"error":"insufficient"}'],
    [200, '{"ok":false,"error":"deadlock"}'],
    [500, '{"ok":true}'],
    [200, "no JSON"],
    [200, ' {"ok": true}\n'],
    [200, '{"ok":true,"retries":3}'],
    [200, '{"ok":false,"error":"insufficient","retries":2}'],
    [500, '{"ok":false,"error":"deadlock","retries":1}'],
    [200, '{"ok":true,"retries":-1}'],
    [200, '{"ok":true}'],
  ];
  let asked = 0;
  const { port } = await serve(context, (_, response) => {
    const [status, body] = answers[Math.min(asked++, answers.length - 1)]!;
    response.writeHead(status).end(body);
  });
  const { report } = await load(configuration(port, { connections: 1 }));
  assert.deepEqual(report.connections[0].failed, [
    [1, "insufficient"],
    [2, "error"],
    [3, "error"],
    [4, "error"],
    [7, "insufficient"],
    [8, "error"],
    [9, "error"],
  ]);
  assert.deepEqual(report.failed, { insufficient: 2, error: 5, timeout: 0 });
  assert.equal(report.attempted, report.acknowledged + 7);
  assert.equal(report.retried, 6);
  assert.deepEqual(report.connections[0].retried, [6, 7, 8]);
  assert.match(report.first_error, /^status 200: .*deadlock/);
});

test("a pipeline has in_flight requests out, and a broken one is in doubt and never repeated", async (context) => {
  const { port, bodies } = await serve(context, (request) => {
    if (bodies.get(request.socket.remotePort!)!.length > 3) request.socket.destroy();
  });
  const { report, events } = await load(configuration(port, { connections: 1, in_flight: 4 }));
  assert.deepEqual([...bodies.values()].map((asked) => asked.length), [4]);
  assert.equal(report.lost_connections, 1);
  assert.deepEqual(report.connections[0].in_doubt, [0, 1, 2, 3]);
  assert.deepEqual([report.attempted, report.in_doubt, report.acknowledged], [4, 4, 0]);
  assert.ok(events.some(({ event, connection }) => event === "connection_lost" && connection === 7));
  assert.equal(report.window.mean_service_time_s, null);
});

test("requests without an answer are in doubt after the time-out", async (context) => {
  const { port } = await serve(context, () => {});
  const { report } = await load(configuration(port, { connections: 2, in_flight: 3, request_timeout_s: 0.3 }));
  assert.deepEqual([report.attempted, report.in_doubt, report.lost_connections], [6, 6, 2]);
  assert.deepEqual(report.failed, { insufficient: 0, error: 0, timeout: 0 });
});

test("what is out at the end of the drain is in doubt", async (context) => {
  const { port } = await serve(context, () => {});
  const { report } = await load(configuration(port, { connections: 1, drain_s: 0.1 }));
  assert.deepEqual([report.in_doubt, report.lost_connections], [1, 0]);
  assert.ok(report.drained_s >= 0.1);
  assert.ok(Math.abs(report.window.mean_in_flight - 1) < 0.01);
});

test("the open loop offers its rate, and a slow server shows in the response time", async (context) => {
  const { port } = await serve(context, (_, response) => setTimeout(() => response.end('{"ok":true}'), 20));
  const loop = { kind: "open", rate_per_s: 100 };
  const attempted = await attemptedInTime(configuration(port, { connections: 10, loop }), 70, 2);
  assert.ok(Math.abs(attempted - 70) <= 2, `${attempted} attempted`);

  const overloaded = (await load(configuration(port, { connections: 1, loop }))).report;
  const service = decodeFromCompressedBase64(overloaded.service_time_ns);
  const response = decodeFromCompressedBase64(overloaded.response_time_ns);
  assert.ok(response.mean > 5 * service.mean, `${response.mean} ns against ${service.mean} ns`);
});

test("what ends the client has its code, and one line that says why", async () => {
  const refused = createServer();
  refused.listen(0, "127.0.0.1");
  await once(refused, "listening");
  const { port } = refused.address() as AddressInfo;
  refused.close();

  const files = { alias_table: { ...transfers.workload.files.alias_table, sha256: "0".repeat(64) } };
  for (const [changed, expected, words] of [
    [{}, 3, /^http at 127.0.0.1:.*ECONNREFUSED/],
    [{ window_s: "1" }, 2, /^window_s: "1" is refused/],
    [{ workload: { ...transfers.workload, files } }, 4, /sha256/],
  ] as const) {
    const { code, output, events } = await run(configuration(port, changed));
    assert.deepEqual([code, output], [expected, ""]);
    assert.match(events.at(-1).message, words);
  }
});

test("a workload of several kinds is sent as each is declared, and counted by kind", async (context) => {
  const counters = vector("counter-and-messages", "default");
  const asked: string[] = [];
  const { port } = await serve(context, async ({ method, url, headers }, response) => {
    asked.push(`${method} ${url} ${headers["x-index"] ?? ""} ${headers["content-type"] ?? ""}`.trimEnd());
    if (method === "PUT") response.writeHead(201).end("stored");
    else response.end(JSON.stringify({ ok: true, value: asked.length }));
  });
  const endpoint = {
    protocol: "http",
    host: "127.0.0.1",
    port,
    requests: {
      increment: { method: "POST", path: "/counters/{counter}", body: "{amount}", success },
      message: {
        method: "PUT",
        path: "/messages/{connection}-{index}",
        headers: { "X-Index": "{index}", "Content-Type": "text/plain" },
        body: '{{"body":{body}}',
        success: { status: [201] },
      },
    },
  };
  const { report } = await load(anyConfiguration(endpoint, { connections: 1 }, counters));
  const expected = counters.operations.slice(0, 20).map(([kind, ...fields], index) => {
    if (kind === "increment") return `POST /counters/${fields[0]}  application/json`;
    return `PUT /messages/${fields[0]}-${index} ${index} text/plain`;
  });
  assert.deepEqual(asked.slice(0, 20), expected);

  assert.equal(report.acknowledged, report.attempted);
  assert.deepEqual(report.failed, { error: 0, timeout: 0 });
  const { increment, message } = report.kinds;
  assert.equal(increment.attempted + message.attempted, report.attempted);
  assert.equal(increment.window.completed + message.window.completed, report.window.completed);
  assert.equal(asked.filter((words) => words.startsWith("PUT")).length, message.attempted);
  for (const kind of [increment, message]) {
    assert.equal(decodeFromCompressedBase64(kind.service_time_ns).totalCount, kind.window.acknowledged);
  }
});

test("what a pipe does not take at once is printed before the end", async (context) => {
  const { loop, window_s, ...rest } = configuration(1);
  const draw = { connection: 1, first_index: 0, count: 30_000 };
  const main = join(import.meta.dirname, "../main.ts");
  const shell = spawn("sh", ["-c", '"$0" "$1" --draw | (sleep 0.5; cat)', process.execPath, main]);
  context.after(() => shell.kill());
  shell.stdin.end(JSON.stringify({ ...rest, draw }));
  assert.equal((await text(shell.stdout)).trim().split("\n").length, draw.count);
});

test("draw prints index, kind and fields", async () => {
  for (const { workload, connection, operations } of [transfers, vector("counter-and-messages", "default")]) {
    const draw = { connection, first_index: 990, count: 10 };
    const { output, code } = await run({ contract: 2, workload, draw }, "--draw");
    const expected = operations.slice(990).map((row, place) => [990 + place, ...row].join(" "));
    assert.equal(code, 0);
    assert.deepEqual(output.trim().split("\n"), expected);
  }
});

test("describe says what this client can do", async () => {
  const { output, code } = await run({}, "--describe");
  const { name, language, version, ...able } = JSON.parse(output);
  assert.equal(code, 0);
  assert.deepEqual([name, language, typeof version], ["gap-node", "typescript", "string"]);
  assert.deepEqual(able, {
    contract: 2,
    protocols: ["http", "postgres", "spacetimedb", "sqlite"],
    workloads: ["chat", "counter-and-messages", "fibonacci", "transfer"],
    reports: "indices",
  });
});
