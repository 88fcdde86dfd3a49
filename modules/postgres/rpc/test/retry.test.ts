import assert from "node:assert/strict";
import { test } from "node:test";
import { attempt } from "../retry.ts";

const transfer = { from: 1, to: 2, amount: 3 };

/** Fails with each of the errors in turn and then transfers. */
function failing(...errors: unknown[]) {
  let attempts = 0;
  return async () => {
    const error = errors[attempts++];
    if (error !== undefined) throw error;
    return "transferred" as const;
  };
}

const refused = (code: string) => Object.assign(new Error(`refused with ${code}`), { code });

test("what the database refuses for now is tried again", async () => {
  const wrapped = new Error("Failed query", { cause: refused("40001") });
  assert.deepEqual(await attempt(failing(refused("40001"), refused("40P01"), wrapped), transfer, 3), {
    outcome: "transferred",
    retries: 3,
  });
});

test("the last error is handed over when the retries are used up", async () => {
  const last = refused("40P01");
  assert.deepEqual(await attempt(failing(refused("40001"), last), transfer, 1), {
    outcome: { error: last },
    retries: 1,
  });
});

for (const error of [refused("23514"), new Error("account 7 does not exist"), "words"]) {
  test(`${error} is final`, async () => {
    assert.deepEqual(await attempt(failing(error), transfer, 5), { outcome: { error }, retries: 0 });
  });
}
