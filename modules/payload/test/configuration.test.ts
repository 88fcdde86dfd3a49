import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError, parseConfiguration } from "../configuration.ts";

const valid = { workload: "chat", path: "/data/payload.sqlite", port: 0, wal: { synchronous: "FULL" }, prepare: true };

test("a whole configuration is taken over", () => {
  assert.deepEqual(parseConfiguration(JSON.stringify(valid)), valid);
  assert.equal(parseConfiguration(JSON.stringify({ ...valid, wal: false })).wal, false);
});

for (const [changed, words] of [
  [{ workload: "../chat" }, /^workload: /],
  [{ path: "" }, /^path: /],
  [{ port: 65536 }, /^port: /],
  [{ prepare: 1 }, /^prepare: /],
  [{ wal: true }, /^wal: must be an object/],
  [{ wal: { synchronous: "OFF" } }, /^wal.synchronous: must be one of FULL, NORMAL/],
  [{ journal: "wal" }, /^configuration: unknown key "journal"/],
] as const) {
  test(`${JSON.stringify(changed)} is refused by name`, () => {
    assert.throws(
      () => parseConfiguration(JSON.stringify({ ...valid, ...changed })),
      (error) => error instanceof ConfigurationError && words.test(error.message),
    );
  });
}

test("an argument that is not JSON is refused", () => {
  assert.throws(() => parseConfiguration(""), ConfigurationError);
});
