import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError } from "../../shared/node/configuration.ts";
import { parseAddress } from "../rpc/address.ts";

const valid = { host: "127.0.0.1", port: 5432, user: "bank", password: "secret", database: "bank" };

test("a whole address is taken over", () => assert.deepEqual(parseAddress(valid), valid));

for (const [changed, key] of [
  [{ database: "" }, /^postgres.database: /],
  [{ port: 0 }, /^postgres.port: /],
  [{ sslmode: "on" }, /^postgres: unknown key "sslmode"/],
] as const) {
  test(`${JSON.stringify(changed)} is refused by name`, () => {
    assert.throws(
      () => parseAddress({ ...valid, ...changed }),
      (error) => error instanceof ConfigurationError && key.test(error.message),
    );
  });
}
