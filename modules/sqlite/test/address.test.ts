import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError } from "../../shared/node/configuration.ts";
import { parseAddress } from "../rpc/address.ts";

const valid = { path: "/var/lib/bank.sqlite", synchronous: "FULL" };

test("a whole address is taken over", () => assert.deepEqual(parseAddress(valid), valid));

for (const [changed, key] of [
  [{ path: "" }, /^sqlite.path: /],
  [{ synchronous: "MEMORY" }, /^sqlite.synchronous: "MEMORY" is unknown; allowed: OFF, /],
  [{ synchronous: undefined }, /^sqlite.synchronous: undefined is unknown/],
  [{ mode: "sql" }, /^sqlite: unknown key "mode"/],
] as const) {
  test(`${JSON.stringify(changed)} is refused by name`, () => {
    assert.throws(
      () => parseAddress({ ...valid, ...changed }),
      (error) => error instanceof ConfigurationError && key.test(error.message),
    );
  });
}
