import assert from "node:assert/strict";
import { test } from "node:test";
import { Phases, Schedule } from "../schedule.ts";
import { Tally } from "../tally.ts";

const SECOND = 1e9;
const operations = { kinds: { transfer: {}, deposit: {} }, refusals: ["insufficient"] };
const createTally = () => new Tally(new Phases({ warmupS: 1, windowS: 1, drainS: 1 }), operations);

test("goodput is what is acknowledged inside the window", () => {
  const tally = createTally();
  for (const [start, end] of [
    [0, 0.5],
    [0.5, 1.5],
    [1, 2],
    [1.5, 2.5],
  ] as const) {
    tally.answered("transfer", null, { intended: 0, start: start * SECOND, end: end * SECOND });
  }
  tally.answered("transfer", "insufficient", { intended: 0, start: SECOND, end: 1.5 * SECOND });
  const total = tally.total();
  assert.equal(total.acknowledged, 4);
  assert.equal(total.windowAcknowledged, 2);
  assert.equal(total.windowCompleted, 3);
  assert.equal(tally.windowOutNs, 2.5 * SECOND);
  assert.equal(tally.windowServiceNs, 2.5 * SECOND);
  assert.deepEqual(tally.perSecond, [1, 1, 2]);
  assert.deepEqual([5, 15, 20, 25].map((bin) => tally.per100ms[bin]), [1, 1, 1, 1]);
  assert.equal(tally.per100ms.length, 26);
  assert.equal(total.serviceTime.totalCount, 2);
});

test("each kind is counted for itself, and all add up to the total", () => {
  const tally = createTally();
  const times = { intended: SECOND, start: SECOND, end: 1.5 * SECOND };
  tally.answered("transfer", null, times);
  tally.answered("transfer", "insufficient", times);
  tally.answered("deposit", null, times);
  tally.answered("deposit", "error", times);
  tally.unanswered("deposit", SECOND, 2 * SECOND);
  const [transfer, deposit] = [tally.kinds.get("transfer")!, tally.kinds.get("deposit")!];
  assert.deepEqual(transfer.failed, { insufficient: 1, error: 0, timeout: 0 });
  assert.deepEqual(deposit.failed, { insufficient: 0, error: 1, timeout: 0 });
  assert.deepEqual([transfer.attempted, deposit.attempted, deposit.inDoubt], [2, 3, 1]);
  const total = tally.total();
  assert.deepEqual(total.failed, { insufficient: 1, error: 1, timeout: 0 });
  assert.deepEqual([total.attempted, total.acknowledged, total.inDoubt], [5, 2, 1]);
  assert.deepEqual([tally.acknowledged, tally.failed], [2, 2]);
  assert.deepEqual([total, transfer, deposit].map(({ responseTime }) => responseTime.totalCount), [2, 1, 1]);
});

test("response time runs from the intended start", () => {
  const tally = createTally();
  tally.answered("transfer", null, { intended: 0.5 * SECOND, start: 1.25 * SECOND, end: 1.5 * SECOND });
  const { serviceTime, responseTime } = tally.total();
  assert.ok(Math.abs(serviceTime.mean / (0.25 * SECOND) - 1) < 1e-3);
  assert.ok(Math.abs(responseTime.mean / SECOND - 1) < 1e-3);
});

test("a request in doubt was out until it was given up", () => {
  const tally = createTally();
  tally.unanswered("transfer", 1.75 * SECOND, 3 * SECOND);
  const total = tally.total();
  assert.deepEqual([total.inDoubt, total.failures, total.windowCompleted], [1, 0, 0]);
  assert.equal(tally.windowOutNs, 0.25 * SECOND);
});

test("times beyond the histogram's bounds are kept at the bounds", () => {
  const tally = new Tally(new Phases({ warmupS: 0, windowS: 1000, drainS: 1 }), operations);
  tally.answered("transfer", null, { intended: 0, start: 0, end: 10 });
  tally.answered("transfer", null, { intended: 0, start: 0, end: 900 * SECOND });
  const { serviceTime } = tally.total();
  assert.equal(serviceTime.totalCount, 2);
  assert.ok(serviceTime.maxValue <= 601 * SECOND);
});

test("the open loop goes round the connections", () => {
  const schedule = new Schedule({ connections: 4, ratePerS: 1e6 });
  assert.deepEqual([0, 1, 2, 3].map((slot) => schedule.intended(slot, 0)), [0, 1000, 2000, 3000]);
  assert.equal(schedule.intended(2, 5), 22_000);
  assert.ok(schedule.isOpen && !new Schedule({ connections: 4, ratePerS: null }).isOpen);
});
