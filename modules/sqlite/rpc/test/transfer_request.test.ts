import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTransfer, RequestError } from "../transfer_request.ts";

test("a transfer is read from the body", () => {
  assert.deepEqual(parseTransfer('{"from":0,"to":2147483647,"amount":1}'), { from: 0, to: 2147483647, amount: 1 });
});

for (const [body, words] of [
  ["[", /not JSON/],
  ["[1]", /not an object/],
  ["null", /not an object/],
  ['{"from":1,"to":2}', /^amount: nothing is not an integer from 1/],
  ['{"from":1,"to":2,"amount":0}', /^amount: 0 /],
  ['{"from":1,"to":2,"amount":1.5}', /^amount: 1.5 /],
  ['{"from":1,"to":2,"amount":2147483648}', /^amount: 2147483648 /],
  ['{"from":-1,"to":2,"amount":1}', /^from: -1 /],
  ['{"from":1,"to":"2","amount":1}', /^to: "2" /],
  ['{"from":1,"to":1,"amount":1}', /two accounts, not 1 and 1/],
  ['{"from":1,"to":2,"amount":1,"note":1}', /^note: unknown key/],
] as const) {
  test(`${body} is refused`, () => {
    assert.throws(() => parseTransfer(body), (error) => error instanceof RequestError && words.test(error.message));
  });
}
