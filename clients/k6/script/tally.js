const ACKNOWLEDGED = "acknowledged";
const BIN_MS = 100;
const NS_PER_MS = 1e6;
// The buckets of an HdrHistogram from 1 us to 10 min with three significant digits: 2,048 of 512 ns, then halved.
const UNIT_NS = 512;
const LOWEST_NS = 1000;
const HIGHEST_NS = 600e9;
const SUB_BUCKET_BITS = 11;

/** What one user was told, in a size that does not grow with the number of its requests but of its failures. */
export class Tally {
  /** In a closed loop a response time is the service time, and kept once. */
  constructor(kinds, window, closed) {
    this.window = window;
    this.issued = 0;
    this.retried = 0;
    this.outMs = 0;
    this.lastEndMs = 0;
    this.firstError = null;
    this.lost = null;
    this.failed = [];
    this.inDoubt = [];
    this.retriedIndices = [];
    this.per100ms = [];
    this.kinds = Object.fromEntries(kinds.map((kind) => [kind, new KindTally(closed)]));
  }

  /** A request that was answered; all times in ms since the clock's start. */
  answered(kind, { verdict, retries }, { intended, start, end }) {
    const ofKind = this.kinds[kind];
    const inside = this.window.start <= end && end <= this.window.end;
    if (retries) {
      this.retried += retries;
      this.retriedIndices.push(this.issued);
    }
    if (inside) {
      ofKind.windowCompleted += 1;
      ofKind.windowServiceMs += end - start;
    }
    if (verdict === ACKNOWLEDGED) {
      ofKind.acknowledged += 1;
      const bin = Math.floor(end / BIN_MS);
      while (this.per100ms.length <= bin) this.per100ms.push(0);
      this.per100ms[bin] += 1;
      if (inside) ofKind.acknowledgedInside(end - start, end - intended);
    } else {
      this.failed.push([this.issued, verdict]);
      ofKind.failed[verdict] = (ofKind.failed[verdict] ?? 0) + 1;
    }
    this.#ended(start, end);
  }

  /** A request that nobody answered. */
  unanswered(kind, { start, end }) {
    this.inDoubt.push(this.issued);
    this.kinds[kind].inDoubt += 1;
    this.#ended(start, end);
  }

  error(text, atMs) {
    this.firstError = this.firstError ?? { text, at_ms: atMs };
  }

  #ended(start, end) {
    this.issued += 1;
    this.lastEndMs = end;
    this.outMs += Math.max(0, Math.min(end, this.window.end) - Math.max(start, this.window.start));
  }

  report(connection) {
    return {
      connection,
      issued: this.issued,
      failed: this.failed,
      in_doubt: this.inDoubt,
      retried: this.retriedIndices,
      retried_times: this.retried,
      lost: this.lost,
      first_error: this.firstError,
      out_ms: this.outMs,
      last_end_ms: this.lastEndMs,
      per_100ms: this.per100ms,
      kinds: Object.fromEntries(Object.entries(this.kinds).map(([kind, ofKind]) => [kind, ofKind.report()])),
    };
  }
}

class KindTally {
  constructor(closed) {
    this.acknowledged = 0;
    this.failed = {};
    this.inDoubt = 0;
    this.windowCompleted = 0;
    this.windowServiceMs = 0;
    this.serviceTimes = new Map();
    this.responseTimes = closed ? this.serviceTimes : new Map();
  }

  acknowledgedInside(serviceMs, responseMs) {
    count(this.serviceTimes, serviceMs);
    if (this.responseTimes !== this.serviceTimes) count(this.responseTimes, responseMs);
  }

  report() {
    return {
      acknowledged: this.acknowledged,
      failed: this.failed,
      in_doubt: this.inDoubt,
      window_completed: this.windowCompleted,
      window_service_ms: this.windowServiceMs,
      service_times: Array.from(this.serviceTimes),
      response_times: Array.from(this.responseTimes),
    };
  }
}

function count(times, ms) {
  const units = Math.floor(Math.min(Math.max(ms * NS_PER_MS, LOWEST_NS), HIGHEST_NS) / UNIT_NS);
  const halvings = Math.max(0, 32 - Math.clz32(units) - SUB_BUCKET_BITS);
  const bucketNs = (units >>> halvings) * 2 ** halvings * UNIT_NS;
  times.set(bucketNs, (times.get(bucketNs) ?? 0) + 1);
}
