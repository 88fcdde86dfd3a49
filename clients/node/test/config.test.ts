import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig, parseDrawConfig } from "../config.ts";
import { EXIT_CONFIGURATION, Failure } from "../failure.ts";
import { transfers } from "./run.ts";

const request = {
  method: "POST",
  path: "/transfer",
  body: '{{"from":{from},"to":{to},"amount":{amount}}',
  success: { json: { ok: true } },
  refusals: { insufficient: { json: { ok: false, error: "insufficient" } } },
};
const http = (changed: object = {}) => ({
  protocol: "http",
  host: "127.0.0.1",
  port: 8080,
  requests: { transfer: { ...request, ...changed } },
});
const counters = { name: "counter-and-messages", seed: 42, parameters: {}, files: {} };
const valid = {
  contract: 2,
  endpoint: http(),
  workload: transfers.workload,
  connections: 50,
  first_connection: 100,
  in_flight: 1,
  loop: { kind: "closed" },
  warmup_s: 2,
  window_s: 10,
  drain_s: 30,
  request_timeout_s: 30,
  threads: 1,
};

const parse = (changed: object) => parseConfig(JSON.stringify({ ...valid, ...changed }));

test("a whole configuration is taken over", async () => {
  const { target, workload, ...config } = await parse({});
  assert.equal(target.name, "http at 127.0.0.1:8080");
  assert.equal(workload.name, "transfer");
  assert.deepEqual(config, {
    connections: 50,
    firstConnection: 100,
    inFlight: 1,
    ratePerS: null,
    warmupS: 2,
    windowS: 10,
    drainS: 30,
    requestTimeoutS: 30,
    startUnixS: null,
    lingerS: 0,
  });
});

test("the open loop has a rate", async () => {
  assert.equal((await parse({ loop: { kind: "open", rate_per_s: 0.5 } })).ratePerS, 0.5);
});

const postgres = { protocol: "postgres", host: "::1", port: 5432, user: "bank", password: "", database: "bank" };
const spacetimedb = { protocol: "spacetimedb", host: "127.0.0.1", port: 3000, database: "bank", token: "a.b.c" };
const sqlite = { protocol: "sqlite", path: "bank.sqlite", synchronous: "NORMAL" };

for (const [endpoint, load, name] of [
  [postgres, { in_flight: 64, max_retries: 3 }, "postgres at [::1]:5432"],
  [{ ...postgres, mode: "sql" }, { in_flight: 1 }, "postgres at [::1]:5432"],
  [{ ...postgres, function: "transfer_descending" }, {}, "postgres at [::1]:5432"],
  [{ ...postgres, functions: { transfer: "move" } }, {}, "postgres at [::1]:5432"],
  [{ ...postgres, functions: { increment: "increment_counter" } }, { workload: counters }, "postgres at [::1]:5432"],
  [spacetimedb, { in_flight: 64, flaws: [] }, "spacetimedb at 127.0.0.1:3000"],
  [{ ...spacetimedb, newest: "v1", confirmed: false, coalesce: true }, {}, "spacetimedb at 127.0.0.1:3000"],
  [{ ...spacetimedb, reducer: "move", amount: "i64" }, {}, "spacetimedb at 127.0.0.1:3000"],
  [{ ...spacetimedb, reducers: { message: "send_message" } }, { workload: counters }, "spacetimedb at 127.0.0.1:3000"],
  [sqlite, {}, "sqlite at bank.sqlite"],
  [sqlite, { workload: counters }, "sqlite at bank.sqlite"],
] as const) {
  test(`${JSON.stringify({ endpoint, ...load })} is accepted`, async () => {
    assert.equal((await parse({ endpoint, ...load })).target.name, name);
  });
}

for (const [changed, words] of [
  [{ contract: 1 }, /^contract: 1 is refused; allowed: 2$/],
  [{ connections: "50" }, /^connections: "50" is refused; allowed: an integer/],
  [{ in_flight: undefined }, /^in_flight: missing/],
  [{ threads: 2 }, /^threads: 2 is refused; allowed: 1 for this client/],
  [{ flaws: [{ name: "status-unread" }] }, /^flaws: .* is refused; allowed: none for this client/],
  [{ loop: { kind: "half" } }, /^loop.kind: "half" is refused; allowed: "closed", "open"/],
  [{ loop: { kind: "open" } }, /^loop.rate_per_s: missing/],
  [{ workload: { ...counters, name: "tpc-c" } }, /^workload.name: "tpc-c" is refused; .*"counter-and-messages", "fib/],
  [{ workload: { ...counters, name: "../main" } }, /^workload.name: "..\/main" is refused/],
  [{ workload: { ...transfers.workload, files: {} } }, /^workload.files.alias_table: must be an object/],
  [{ endpoint: { ...http(), protocol: "mysql" } }, /^endpoint.protocol: "mysql" is refused; .*"sqlite"/],
  [{ endpoint: { ...http(), protocol: "toString" } }, /^endpoint.protocol: "toString" is refused/],
  [{ endpoint: [] }, /^endpoint: must be an object/],
  [{ workload: counters }, /^endpoint.requests.increment: must be an object/],
  [{ endpoint: http({ body: "{source}" }) }, /^endpoint.requests.transfer.body: .* allowed: the fields \{from\}, \{to\}, \{amount\},/],
  [{ endpoint: http({ body: "{from" }) }, /^endpoint.requests.transfer.body: /],
  [{ endpoint: http({ path: "/{toString}" }) }, /^endpoint.requests.transfer.path: /],
  [{ endpoint: http({ headers: { key: "{}" } }) }, /^endpoint.requests.transfer.headers.key: /],
  [{ endpoint: http({ refusals: { late: {} } }) }, /^endpoint.requests.transfer.refusals.late: .* allowed: insufficient/],
  [{ endpoint: http({ success: undefined }) }, /^endpoint.requests.transfer.success: must be an object/],
  [{ endpoint: { ...postgres, mode: "batch" } }, /^endpoint.mode: "batch" is refused; allowed: "procedure", "sql"/],
  [{ endpoint: { ...postgres, mode: "sql" }, in_flight: 2 }, /^in_flight: 2 is refused; allowed: 1 in mode "sql"/],
  [{ endpoint: { ...postgres, mode: "drizzle" }, in_flight: 2 }, /^in_flight: 2 is refused; allowed: 1 in mode "dri/],
  [{ endpoint: { ...postgres, mode: "sql", function: "f" } }, /^endpoint.function: "f" is refused/],
  [{ endpoint: { ...postgres, mode: "sql" }, workload: counters }, /^workload.name: .* allowed: "transfer" in mode "sql"/],
  [{ endpoint: { ...postgres, function: "f" }, workload: counters }, /^endpoint.function: "f" is refused/],
  [{ endpoint: { ...postgres, functions: { pay: "f" } } }, /^endpoint.functions.pay: "f" is refused; .* transfer/],
  [{ endpoint: { ...postgres, user: undefined } }, /^endpoint.user: missing/],
  [{ endpoint: { ...spacetimedb, confirmed: "yes" } }, /^endpoint.confirmed: "yes" is refused; allowed: true, false/],
  [{ endpoint: { ...spacetimedb, newest: "v4" } }, /^endpoint.newest: "v4" is refused; allowed: "v1", "v2", "v3"/],
  [{ endpoint: { ...spacetimedb, coalesce: false } }, /^endpoint.coalesce: false is refused; allowed: true/],
  [{ endpoint: { ...spacetimedb, reducer: "f", reducers: { transfer: "g" } } }, /^endpoint.reducer: "f" is refused/],
  [{ endpoint: { ...sqlite, synchronous: "MEMORY" } }, /^endpoint.synchronous: "MEMORY" is refused/],
  [{ endpoint: { ...sqlite, synchronous: undefined } }, /^endpoint.synchronous: missing/],
  [{ endpoint: { ...sqlite, mode: "procedure" } }, /^endpoint.mode: "procedure" is refused/],
  [{ endpoint: sqlite, in_flight: 2 }, /^in_flight: 2 is refused; allowed: 1 for protocol "sqlite"/],
  [{ endpoint: { ...sqlite, mode: "drizzle" }, workload: counters }, /^endpoint.mode: "drizzle" is refused; allowed: "sql"$/],
] as const) {
  test(`${JSON.stringify(changed)} is refused by name`, () => {
    return assert.rejects(
      parse(changed),
      (error) => error instanceof Failure && error.exitCode === EXIT_CONFIGURATION && words.test(error.message),
    );
  });
}

test("a draw needs workload and range only", async () => {
  const draw = { connection: 7, first_index: 5, count: 3 };
  const parsed = await parseDrawConfig(JSON.stringify({ contract: 2, workload: counters, draw }));
  assert.deepEqual([parsed.connection, parsed.firstIndex, parsed.count], [7, 5, 3]);
  await assert.rejects(parseDrawConfig(JSON.stringify({ contract: 2, workload: counters })), /^Error: draw: must be an object/);
});
