import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError, object, parseConfiguration, text } from "../configuration.ts";

const valid = {
  workload: "counter-and-messages",
  access: "sql",
  listen: { host: "127.0.0.1", port: 0 },
  database: { path: "/var/lib/bank" },
  pool_size: 50,
};

function parse(line: string) {
  return parseConfiguration(line, "database", (value) => text(object(value, "database", ["path"])["path"], "path"));
}

test("a whole configuration is taken over", () => {
  assert.deepEqual(parse(JSON.stringify({ ...valid, max_retries: 3 })), {
    workload: "counter-and-messages",
    access: "sql",
    listen: { host: "127.0.0.1", port: 0 },
    address: "/var/lib/bank",
    poolSize: 50,
    maxRetries: 3,
    retryWait: null,
  });
});

test("a wait before retries has both its bounds", () => {
  const { retryWait } = parse(JSON.stringify({ ...valid, retry_wait_ms: { first: 10, most: 200 } }));
  assert.deepEqual(retryWait, { firstMs: 10, mostMs: 200 });
});

test("nothing is retried unless the configuration says so", () => {
  assert.equal(parse(JSON.stringify(valid)).maxRetries, 0);
});

for (const [changed, key] of [
  [{ access: "" }, /^access: must be a non-empty string$/],
  [{ workload: "../transfer" }, /^workload: "\.\.\/transfer" is no name of a workload/],
  [{ workload: undefined }, /^workload: must be/],
  [{ listen: { host: "127.0.0.1", port: 65536 } }, /^listen.port: /],
  [{ database: { path: "" } }, /^path: /],
  [{ database: 3 }, /^database: must be an object/],
  [{ pool_size: 0 }, /^pool_size: /],
  [{ max_retries: -1 }, /^max_retries: must be an integer from 0/],
  [{ max_retries: "3" }, /^max_retries: /],
  [{ retry_wait_ms: 10 }, /^retry_wait_ms: must be an object/],
  [{ retry_wait_ms: { first: 10 } }, /^retry_wait_ms\.most: must be an integer from 10/],
  [{ retry_wait_ms: { first: 20, most: 10 } }, /^retry_wait_ms\.most: must be an integer from 20/],
  [{ pool_sise: 1 }, /^configuration: unknown key "pool_sise"/],
] as const) {
  test(`${JSON.stringify(changed)} is refused by name`, () => {
    assert.throws(
      () => parse(JSON.stringify({ ...valid, ...changed })),
      (error) => error instanceof ConfigurationError && key.test(error.message),
    );
  });
}

test("a line that is not JSON is refused", () => {
  assert.throws(() => parse(""), ConfigurationError);
});
