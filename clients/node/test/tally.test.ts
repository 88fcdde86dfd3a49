import assert from "node:assert/strict";
import { test } from "node:test";
import { Phases, Schedule } from "../schedule.ts";
import { Tally } from "../tally.ts";

const SECOND = 1e9;
const createTally = () => new Tally(new Phases({ warmupS: 1, windowS: 1, drainS: 1 }));

test("goodput is what is acknowledged inside the window", () => {
  const tally = createTally();
  for (const [start, end] of [
    [0, 0.5],
    [0.5, 1.5],
    [1, 2],
    [1.5, 2.5],
  ] as const) {
    tally.answered("acknowledged", { intended: 0, start: start * SECOND, end: end * SECOND });
  }
  tally.answered("insufficient", { intended: 0, start: SECOND, end: 1.5 * SECOND });
  assert.equal(tally.acknowledged, 4);
  assert.equal(tally.windowAcknowledged, 2);
  assert.equal(tally.windowCompleted, 3);
  assert.equal(tally.windowOutNs, 2.5 * SECOND);
  assert.equal(tally.windowServiceNs, 2.5 * SECOND);
  assert.deepEqual(tally.perSecond, [1, 1, 2]);
  assert.deepEqual([5, 15, 20, 25].map((bin) => tally.per100ms[bin]), [1, 1, 1, 1]);
  assert.equal(tally.per100ms.length, 26);
  assert.equal(tally.serviceTime.totalCount, 2);
});

test("response time runs from the intended start", () => {
  const tally = createTally();
  tally.answered("acknowledged", { intended: 0.5 * SECOND, start: 1.25 * SECOND, end: 1.5 * SECOND });
  assert.ok(Math.abs(tally.serviceTime.mean / (0.25 * SECOND) - 1) < 1e-3);
  assert.ok(Math.abs(tally.responseTime.mean / SECOND - 1) < 1e-3);
});

test("a request in doubt was out until it was given up", () => {
  const tally = createTally();
  tally.unanswered(1.75 * SECOND, 3 * SECOND);
  assert.deepEqual([tally.inDoubt, tally.failed, tally.windowCompleted], [1, 0, 0]);
  assert.equal(tally.windowOutNs, 0.25 * SECOND);
});

test("times beyond the histogram's bounds are kept at the bounds", () => {
  const phases = new Phases({ warmupS: 0, windowS: 1000, drainS: 1 });
  const tally = new Tally(phases);
  tally.answered("acknowledged", { intended: 0, start: 0, end: 10 });
  tally.answered("acknowledged", { intended: 0, start: 0, end: 900 * SECOND });
  assert.equal(tally.serviceTime.totalCount, 2);
  assert.ok(tally.serviceTime.maxValue <= 601 * SECOND);
});

test("the open loop goes round the connections", () => {
  const schedule = new Schedule({ connections: 4, ratePerS: 1e6 });
  assert.deepEqual([0, 1, 2, 3].map((slot) => schedule.intended(slot, 0)), [0, 1000, 2000, 3000]);
  assert.equal(schedule.intended(2, 5), 22_000);
  assert.ok(schedule.isOpen && !new Schedule({ connections: 4, ratePerS: null }).isOpen);
});
