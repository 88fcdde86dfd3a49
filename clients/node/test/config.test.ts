import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig, parseDrawConfig } from "../config.ts";
import { EXIT_CONFIGURATION, Failure } from "../failure.ts";

const valid = {
  contract: 1,
  endpoint: { protocol: "http", host: "127.0.0.1", port: 8080 },
  workload: {
    name: "transfer",
    seed: 42,
    accounts: 1000,
    alpha: 1.5,
    amount_max: 1000,
    alias_table: "/alias.bin",
    alias_table_sha256: "0".repeat(64),
  },
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
  const { target, ...config } = await parse({});
  assert.equal(target.name, "http at 127.0.0.1:8080");
  assert.deepEqual(config, {
    workload: {
      seed: 42,
      accounts: 1000,
      amountMax: 1000,
      redraw: "both",
      aliasTable: "/alias.bin",
      aliasTableSha256: "0".repeat(64),
    },
    connections: 50,
    firstConnection: 100,
    inFlight: 1,
    ratePerS: null,
    warmupS: 2,
    windowS: 10,
    drainS: 30,
    requestTimeoutS: 30,
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
  [spacetimedb, { in_flight: 64 }, "spacetimedb at 127.0.0.1:3000"],
  [{ ...spacetimedb, newest: "v1", confirmed: false, coalesce: true }, {}, "spacetimedb at 127.0.0.1:3000"],
  [{ ...spacetimedb, reducer: "move", amount: "i64" }, {}, "spacetimedb at 127.0.0.1:3000"],
  [sqlite, {}, "sqlite at bank.sqlite"],
] as const) {
  test(`${JSON.stringify({ endpoint, ...load })} is accepted`, async () => {
    assert.equal((await parse({ endpoint, ...load })).target.name, name);
  });
}

for (const [changed, words] of [
  [{ contract: 2 }, /^contract: 2 is refused; allowed: /],
  [{ connections: 0 }, /^connections: 0 is refused/],
  [{ connections: "50" }, /^connections: "50" is refused/],
  [{ in_flight: undefined }, /^in_flight: missing/],
  [{ threads: 2 }, /^threads: 2 is refused; allowed: an integer from 1 to 1/],
  [{ window_s: 0 }, /^window_s: 0 is refused/],
  [{ pipelining: 4 }, /^pipelining: unknown key/],
  [{ loop: { kind: "half" } }, /^loop.kind: "half" is refused/],
  [{ loop: { kind: "open" } }, /^loop.rate_per_s: missing/],
  [{ loop: { kind: "closed", rate_per_s: 5 } }, /^loop.rate_per_s: 5 is refused/],
  [{ flaws: [] }, /^flaws: unknown key/],
  [{ max_retries: -1 }, /^max_retries: -1 is refused/],
  [{ endpoint: { ...valid.endpoint, protocol: "mysql" } }, /^endpoint.protocol: "mysql" is refused; .*"sqlite"/],
  [{ endpoint: { ...valid.endpoint, protocol: "toString" } }, /^endpoint.protocol: "toString" is refused/],
  [{ endpoint: { ...postgres, mode: "batch" } }, /^endpoint.mode: "batch" is refused; allowed: "procedure", "sql"/],
  [{ endpoint: { ...postgres, mode: "sql" }, in_flight: 2 }, /^in_flight: 2 is refused; allowed: 1 in mode "sql"/],
  [{ endpoint: { ...postgres, mode: "drizzle" }, in_flight: 2 }, /^in_flight: 2 is refused; allowed: 1 in mode "dri/],
  [{ endpoint: { ...postgres, mode: "sql", function: "f" } }, /^endpoint.function: "f" is refused/],
  [{ endpoint: { ...postgres, function: "f(); DROP" } }, /^endpoint.function: "f\(\); DROP" is refused/],
  [{ endpoint: { ...postgres, user: undefined } }, /^endpoint.user: missing/],
  [{ endpoint: { ...spacetimedb, token: "a b" } }, /^endpoint.token: "a b" is refused/],
  [{ endpoint: { ...spacetimedb, confirmed: "yes" } }, /^endpoint.confirmed: "yes" is refused; allowed: true, false/],
  [{ endpoint: { ...spacetimedb, newest: "v2" } }, /^endpoint.newest: "v2" is refused; allowed: "v1", "v3"/],
  [{ endpoint: { ...spacetimedb, coalesce: false } }, /^endpoint.coalesce: false is refused; allowed: true/],
  [{ endpoint: { ...spacetimedb, reducer: "f()" } }, /^endpoint.reducer: "f\(\)" is refused/],
  [{ endpoint: { ...sqlite, synchronous: "EXTRA" } }, /^endpoint.synchronous: "EXTRA" is refused/],
  [{ endpoint: { ...sqlite, synchronous: undefined } }, /^endpoint.synchronous: missing/],
  [{ endpoint: { ...sqlite, mode: "procedure" } }, /^endpoint.mode: "procedure" is refused/],
  [{ endpoint: sqlite, in_flight: 2 }, /^in_flight: 2 is refused; allowed: 1 for protocol "sqlite"/],
  [{ endpoint: { ...valid.endpoint, path: "transfer" } }, /^endpoint.path: "transfer" is refused/],
  [{ endpoint: { ...valid.endpoint, user: "bank" } }, /^endpoint.user: unknown key/],
  [{ endpoint: [] }, /^endpoint: must be an object/],
  [{ workload: { ...valid.workload, seed: 2 ** 53 } }, /^workload.seed: /],
  [{ workload: { ...valid.workload, accounts: 2 ** 21 + 1 } }, /^workload.accounts: /],
  [{ workload: { ...valid.workload, alias_table_sha256: "abc" } }, /^workload.alias_table_sha256: "abc" is refused/],
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
  const { workload } = valid;
  const parsed = parseDrawConfig(JSON.stringify({ contract: 1, workload, draw }));
  assert.deepEqual([parsed.connection, parsed.firstIndex, parsed.count], [7, 5, 3]);
  assert.throws(() => parseDrawConfig(JSON.stringify({ contract: 1, workload })), /^Error: draw: must be an object/);
  await assert.rejects(parse({ draw }), /draw: unknown key/);
});
