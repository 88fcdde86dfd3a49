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

test("a whole configuration is taken over", () => {
  assert.deepEqual(parseConfig(JSON.stringify(valid)), {
    endpoint: { host: "127.0.0.1", port: 8080, path: "/transfer" },
    workload: {
      seed: 42,
      accounts: 1000,
      amountMax: 1000,
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

test("the open loop has a rate and an endpoint may have a path", () => {
  const endpoint = { ...valid.endpoint, path: "/api/transfer" };
  const config = parseConfig(JSON.stringify({ ...valid, endpoint, loop: { kind: "open", rate_per_s: 0.5 } }));
  assert.equal(config.ratePerS, 0.5);
  assert.equal(config.endpoint.path, "/api/transfer");
});

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
  [{ endpoint: { ...valid.endpoint, protocol: "postgres" } }, /^endpoint.protocol: "postgres" is refused/],
  [{ endpoint: { ...valid.endpoint, path: "transfer" } }, /^endpoint.path: "transfer" is refused/],
  [{ endpoint: { ...valid.endpoint, user: "bank" } }, /^endpoint.user: unknown key/],
  [{ endpoint: [] }, /^endpoint: must be an object/],
  [{ workload: { ...valid.workload, seed: 2 ** 53 } }, /^workload.seed: /],
  [{ workload: { ...valid.workload, accounts: 2 ** 21 + 1 } }, /^workload.accounts: /],
  [{ workload: { ...valid.workload, alias_table_sha256: "abc" } }, /^workload.alias_table_sha256: "abc" is refused/],
] as const) {
  test(`${JSON.stringify(changed)} is refused by name`, () => {
    assert.throws(
      () => parseConfig(JSON.stringify({ ...valid, ...changed })),
      (error) => error instanceof Failure && error.exitCode === EXIT_CONFIGURATION && words.test(error.message),
    );
  });
}

test("a draw needs workload and range only", () => {
  const draw = { connection: 7, first_index: 5, count: 3 };
  const { workload } = valid;
  const parsed = parseDrawConfig(JSON.stringify({ contract: 1, workload, draw }));
  assert.deepEqual([parsed.connection, parsed.firstIndex, parsed.count], [7, 5, 3]);
  assert.throws(() => parseDrawConfig(JSON.stringify({ contract: 1, workload })), /^Error: draw: must be an object/);
  assert.throws(() => parseConfig(JSON.stringify({ ...valid, draw })), /draw: unknown key/);
});
