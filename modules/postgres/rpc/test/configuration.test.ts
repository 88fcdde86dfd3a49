import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError, parseConfiguration } from "../configuration.ts";

const valid = {
  access: "drizzle",
  listen: { host: "127.0.0.1", port: 0 },
  postgres: { host: "127.0.0.1", port: 5432, user: "bank", password: "secret", database: "bank" },
  pool_size: 50,
};

test("a whole configuration is taken over", () => {
  const { access, listen, postgres, poolSize, maxRetries } = parseConfiguration(
    JSON.stringify({ ...valid, max_retries: 3 }),
    ["drizzle"],
  );
  assert.deepEqual({ access, listen, postgres, pool_size: poolSize }, valid);
  assert.equal(maxRetries, 3);
});

test("nothing is retried unless the configuration says so", () => {
  assert.equal(parseConfiguration(JSON.stringify(valid), ["drizzle"]).maxRetries, 0);
});

for (const [changed, key] of [
  [{ access: "sql" }, /^access: "sql" is unknown; allowed: drizzle$/],
  [{ listen: { host: "127.0.0.1", port: 65536 } }, /^listen.port: /],
  [{ postgres: { ...valid.postgres, database: "" } }, /^postgres.database: /],
  [{ postgres: { ...valid.postgres, sslmode: "on" } }, /^postgres: unknown key "sslmode"/],
  [{ pool_size: 0 }, /^pool_size: /],
  [{ max_retries: -1 }, /^max_retries: must be an integer from 0/],
  [{ max_retries: "3" }, /^max_retries: /],
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
