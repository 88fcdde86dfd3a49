import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError, parseConfiguration } from "../configuration.ts";

const taken = {
  access: "drizzle",
  listen: { host: "127.0.0.1", port: 0 },
  sqlite: { path: "/var/lib/bank.sqlite", synchronous: "FULL" },
};
const valid = { ...taken, pool_size: 50 };

test("a whole configuration is taken over", () => {
  assert.deepEqual(parseConfiguration(JSON.stringify({ ...valid, max_retries: 3 }), ["drizzle"]), taken);
});

for (const [changed, key] of [
  [{ access: "procedure" }, /^access: "procedure" is unknown; allowed: drizzle$/],
  [{ listen: { host: "127.0.0.1", port: 65536 } }, /^listen.port: /],
  [{ sqlite: { ...valid.sqlite, path: "" } }, /^sqlite.path: /],
  [{ sqlite: { ...valid.sqlite, synchronous: "MEMORY" } }, /^sqlite.synchronous: "MEMORY" is unknown; allowed: OFF, /],
  [{ sqlite: { path: "/bank" } }, /^sqlite.synchronous: undefined is unknown/],
  [{ sqlite: { ...valid.sqlite, mode: "sql" } }, /^sqlite: unknown key "mode"/],
  [{ pool_size: 0 }, /^pool_size: /],
  [{ max_retries: -1 }, /^max_retries: /],
  [{ pool_sise: 1 }, /^configuration: unknown key "pool_sise"/],
] as const) {
  test(`${JSON.stringify(changed)} is refused by name`, () => {
    assert.throws(
      () => parseConfiguration(JSON.stringify({ ...valid, ...changed }), ["drizzle"]),
      (error) => error instanceof ConfigurationError && key.test(error.message),
    );
  });
}

test("a line that is not JSON is refused", () => {
  assert.throws(() => parseConfiguration("", ["drizzle"]), ConfigurationError);
});
