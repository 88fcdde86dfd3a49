import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePost, parseRead } from "../chat.ts";
import { parseIncrement, parseMessage } from "../counter_and_messages.ts";
import { RequestError } from "../fields.ts";
import { parseTransfer } from "../transfer.ts";

test("operations are read from the body", () => {
  assert.deepEqual(parseTransfer('{"from":0,"to":2147483647,"amount":1}'), { from: 0, to: 2147483647, amount: 1 });
  assert.deepEqual(parseIncrement('{"counter":7,"amount":1}'), { counter: 7, amount: 1 });
  assert.deepEqual(parseMessage('{"connection":1,"index":9007199254740991,"body":"abc"}'), {
    connection: 1,
    index: 9007199254740991,
    body: "abc",
  });
});

test("a post and a read are read from the body", () => {
  const post = { room: 100000000000001, connection: 1, index: 9007199254740991, body: "abc" };
  assert.deepEqual(parsePost(JSON.stringify(post)), post);
  assert.deepEqual(parseRead('{"id":100000000000000}'), { id: 100000000000000 });
});

for (const [parse, body, words] of [
  [parseTransfer, "[", /not JSON; send {"from":1/],
  [parseTransfer, "[1]", /not an object/],
  [parseTransfer, "null", /not an object/],
  [parseTransfer, '{"from":1,"to":2}', /^amount: nothing is not an integer from 1/],
  [parseTransfer, '{"from":1,"to":2,"amount":0}', /^amount: 0 /],
  [parseTransfer, '{"from":1,"to":2,"amount":1.5}', /^amount: 1.5 /],
  [parseTransfer, '{"from":1,"to":2,"amount":2147483648}', /^amount: 2147483648 /],
  [parseTransfer, '{"from":-1,"to":2,"amount":1}', /^from: -1 /],
  [parseTransfer, '{"from":1,"to":"2","amount":1}', /^to: "2" /],
  [parseTransfer, '{"from":1,"to":1,"amount":1}', /two accounts, not 1 and 1/],
  [parseTransfer, '{"from":1,"to":2,"amount":1,"note":1}', /^note: unknown key; allowed: from, to, amount/],
  [parseTransfer, '{"from":1,"to":2,"amount":1,"toString":1}', /^toString: unknown key/],
  [parseIncrement, "{}", /^counter: nothing is not/],
  [parseIncrement, '{"counter":-1,"amount":1}', /^counter: -1 /],
  [parseIncrement, '{"counter":1,"amount":0}', /^amount: 0 /],
  [parseMessage, '{"connection":1,"index":9007199254740992,"body":"a"}', /^index: /],
  [parseMessage, '{"connection":1,"index":1,"body":""}', /^body: "" is not a text of 1 to/],
  [parseMessage, `{"connection":1,"index":1,"body":"${"a".repeat(5000)}"}`, /^body: "aaa/],
  [parseMessage, '{"connection":1,"index":1,"body":7}', /^body: 7 /],
  [parsePost, '{"connection":1,"index":1,"body":"a"}', /^room: nothing is not/],
  [parsePost, '{"room":-1,"connection":1,"index":1,"body":"a"}', /^room: -1 /],
  [parseRead, '{"id":9007199254740992}', /^id: /],
] as const) {
  test(`${body.slice(0, 60)} is refused`, () => {
    assert.throws(() => parse(body), (error) => error instanceof RequestError && words.test(error.message));
  });
}
