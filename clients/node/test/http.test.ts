import assert from "node:assert/strict";
import { test } from "node:test";
import { Fields } from "../fields.ts";
import { Judge } from "../protocols/http/answer.ts";
import { Request } from "../protocols/http/request.ts";

const kind = { connection: "u32", index: "u64", body: "text" } as const;
const operation = { kind: "message", fields: { connection: 7, index: 2 ** 40, body: 'a "b"/{c}é' } };

const sent = (declared: object) => {
  const request = new Request(new Fields({ method: "POST", path: "/", success: {}, ...declared }, "request"), kind, []);
  return request.of(operation);
};

test("a field is JSON in a body, percent-encoded in a path, and as it is in a header", () => {
  const headers = { "X-Both": "{connection}:{index}", Accept: "application/json" };
  const { method, path, headers: written, body } = sent({
    method: "PATCH",
    path: "/{connection}/{body}?index={index}",
    headers,
    body: '{{"at":[{connection},{index}],"body":{body},"{{":{{}}',
  });
  assert.equal(method, "PATCH");
  assert.equal(path, "/7/a%20%22b%22%2F%7Bc%7D%C3%A9?index=1099511627776");
  assert.deepEqual(written, {
    "content-type": "application/json",
    "X-Both": "7:1099511627776",
    Accept: "application/json",
  });
  assert.equal(body, '{"at":[7,1099511627776],"body":"a \\"b\\"/{c}é","{":{}}');
});

test("a type of content is added to a body that has none", () => {
  assert.deepEqual(sent({ body: "{body}" }).headers, { "content-type": "application/json" });
  assert.deepEqual(sent({ body: "{body}", headers: { "Content-TYPE": "text/plain" } }).headers, {
    "Content-TYPE": "text/plain",
  });
  assert.deepEqual(sent({}), { method: "POST", path: "/", headers: {}, body: null });
});

const judgeOf = (declared: object) => new Judge(new Fields(declared, "request"), ["insufficient", "late", "closed"]);

test("an answer is what it fits first: a refusal, then success, and otherwise an error", () => {
  const judge = judgeOf({
    success: { status: [200, 201], json: { ok: true, nested: { a: [1] } } },
    refusals: {
      late: { status: [409] },
      closed: { status: [530], text: "closed" },
      insufficient: { json: { error: "insufficient" } },
    },
  });
  const ok = { ok: true, nested: { a: [1] } };
  for (const [status, body, refusal] of [
    [200, ok, null],
    [200, ok, null],
    [201, { ...ok, more: 1 }, null],
    [202, ok, "error"],
    [200, { ...ok, ok: 1 }, "error"],
    [200, { ...ok, nested: { a: [1, 2] } }, "error"],
    [200, { ok: true }, "error"],
    [200, [ok], "error"],
    [200, { ...ok, error: "insufficient" }, "insufficient"],
    [201, { error: "insufficient" }, "error"],
    [409, ["anything"], "late"],
    [530, "closed", "closed"],
    [530, "closed today", "error"],
  ] as const) {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    assert.equal(judge.judge(status, text).refusal, refusal, `${status} ${text}`);
  }
  assert.match(judge.judge(500, "broken").text, /^status 500: broken$/);
});

test("retries are counted where they are declared, and must be a number of them", () => {
  const judge = judgeOf({ success: {}, retries: "again" });
  for (const [body, retries, refusal] of [
    ['{"again":3}', 3, null],
    ['{"again":0}', 0, null],
    ["{}", 0, null],
    ["no JSON", 0, null],
    ['{"again":-1}', 0, "error"],
    ['{"again":1.5}', 0, "error"],
    ['{"again":65536}', 0, "error"],
    ['{"again":"3"}', 0, "error"],
  ] as const) {
    const outcome = judge.judge(200, body);
    assert.deepEqual([outcome.retries, outcome.refusal], [retries, refusal], body);
  }
  assert.deepEqual(judge.judge(500, '{"again":2}'), {
    refusal: "error",
    text: 'status 500: {"again":2}',
    retries: 2,
  });
});
