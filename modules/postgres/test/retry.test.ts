import assert from "node:assert/strict";
import { test } from "node:test";
import { retrying, waitMs } from "../rpc/retry.ts";

/** Fails with each of the errors in turn and then is done. */
function failing(...errors: unknown[]) {
  let attempts = 0;
  return async () => {
    const error = errors[attempts++];
    if (error !== undefined) throw error;
    return "done";
  };
}

const refused = (code: string) => Object.assign(new Error(`refused with ${code}`), { code });

test("what the database refuses for now is tried again", async () => {
  const wrapped = new Error("Failed query", { cause: refused("40001") });
  const answer = await retrying(3)(failing(refused("40001"), refused("40P01"), wrapped));
  assert.deepEqual(answer, { outcome: "done", retries: 3 });
});

test("the last error is handed over when the retries are used up", async () => {
  const last = refused("40P01");
  const answer = await retrying(1)(failing(refused("40001"), last));
  assert.deepEqual(answer, { outcome: { error: last }, retries: 1 });
});

for (const error of [refused("23514"), new Error("account 7 does not exist"), "words"]) {
  test(`${error} is final`, async () => {
    assert.deepEqual(await retrying(5)(failing(error)), { outcome: { error }, retries: 0 });
  });
}

test("a wait stays below a bound that doubles up to the most", () => {
  const wait = { firstMs: 10, mostMs: 200 };
  for (const [retries, bound] of [[0, 10], [1, 20], [4, 160], [5, 200], [900, 200], [2000, 200]] as const) {
    const drawn = Array.from({ length: 500 }, () => waitMs(wait, retries));
    assert.ok(Math.max(...drawn) <= bound && Math.max(...drawn) > bound / 2, `${retries}: ${Math.max(...drawn)}`);
    assert.ok(Math.min(...drawn) >= 0);
  }
});

test("an operation that waits is tried again as often", async () => {
  const answer = await retrying(2, { firstMs: 1, mostMs: 1 })(failing(refused("40001"), refused("40001")));
  assert.deepEqual(answer, { outcome: "done", retries: 2 });
});
