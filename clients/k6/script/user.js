import { check, sleep } from "k6";
import exec from "k6/execution";
import { Counter, Trend } from "k6/metrics";
import { judge, sender } from "./requests.js";
import { Tally } from "./tally.js";

const MS_PER_S = 1000;
// k6's error codes of what failed before anything was sent: names, addresses, dialling.
const NOTHING_SENT = [[1100, 1199], [1210, 1219]];
const KEPT_CHARACTERS = 500;

/** The metrics that k6 keeps itself, as the published script has them. */
export function metricsOf(kinds) {
  const acknowledged = {};
  for (const kind of kinds) acknowledged[kind] = new Counter(`acknowledged_${kind.replace(/-/g, "_")}`);
  return { acknowledged, refused: new Counter("refused"), requestDuration: new Trend("request_duration_ms") };
}

/** One virtual user, which is one connection of the load; all times in ms since the clock's start. */
export class User {
  /** Everything that takes time is made while k6 prepares its users, before the clock starts. */
  constructor(told, draw, metrics) {
    this.told = told;
    this.draw = draw;
    this.metrics = metrics;
    this.kinds = Object.fromEntries(
      Object.entries(told.requests).map(([kind, request]) => [
        kind,
        { send: sender(told.base, request), judge: judge(request), checks: {} },
      ]),
    );
    this.tally = new Tally(Object.keys(told.requests), told.window_ms, told.rate_per_s === null);
    this.clock = null;
    this.ended = false;
  }

  /** What k6 tells a user that runs: its number, and the clock. */
  begin(startMs) {
    this.clock = exec.instance;
    this.startMs = startMs;
    this.slot = exec.vu.idInTest - 1;
    this.connection = this.told.first_connection + this.slot;
  }

  now() {
    return this.clock.currentTestRunDuration - this.startMs;
  }

  sleepUntil(ms) {
    const left = ms - this.now();
    if (left > 0) sleep(left / MS_PER_S);
  }

  /** When the next operation is due; in the closed loop at once. */
  intended() {
    const { rate_per_s: rate, connections } = this.told;
    return rate === null ? 0 : ((this.tally.issued * connections + this.slot) * MS_PER_S) / rate;
  }

  /** One request, or, after the last one, what was counted. */
  step() {
    const windowEnd = this.told.window_ms.end;
    const due = Math.min(this.intended(), windowEnd);
    this.sleepUntil(this.ended ? this.told.scenario_end_ms : due);
    if (this.ended) return;
    if (this.tally.lost === null && this.now() < windowEnd) this.request(due);
    if (this.tally.lost !== null || this.now() >= windowEnd) this.end();
  }

  request(due) {
    const { window_ms: window, drain_end_ms: drainEnd, request_timeout_ms: timeout } = this.told;
    const { kind, fields } = this.draw(this.connection, this.tally.issued);
    const { send, judge: judged, checks } = this.kinds[kind];
    const start = this.now();
    if (start >= window.end) return;
    const response = send(fields, Math.min(timeout, drainEnd - start));
    const end = this.now();
    this.metrics.requestDuration.add(end - start);
    if (response.status === 0) {
      this.broken(kind, response, { intended: start, start, end });
      return;
    }
    const answer = judged(response.status, response.body);
    const acknowledged = answer.verdict === "acknowledged";
    checks.acknowledged = () => acknowledged;
    check(response, checks);
    if (acknowledged) this.metrics.acknowledged[kind].add(1);
    else this.refuse(answer.verdict, response, end);
    this.tally.answered(kind, answer, { intended: this.told.rate_per_s === null ? start : due, start, end });
  }

  refuse(verdict, response, end) {
    this.metrics.refused.add(1);
    if (verdict !== "error") return;
    this.tally.error(`status ${response.status}: ${String(response.body).slice(0, KEPT_CHARACTERS)}`, end);
  }

  /** The connection is lost, and with it this user: in doubt is what may have been sent. */
  broken(kind, response, times) {
    const code = response.error_code;
    this.metrics.refused.add(1);
    this.tally.lost = `k6 error ${code}: ${response.error}`;
    if (NOTHING_SENT.some(([low, high]) => low <= code && code <= high)) {
      this.tally.error(this.tally.lost, times.end);
      this.tally.answered(kind, { verdict: "error", retries: 0 }, times);
    } else {
      this.tally.unanswered(kind, times);
    }
  }

  end() {
    this.ended = true;
    console.log(`${this.told.mark}${JSON.stringify(this.tally.report(this.connection))}`);
  }
}
