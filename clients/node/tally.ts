import { build, type Histogram } from "hdr-histogram-js";
import type { Phases } from "./schedule.ts";

const LOWEST_NS = 1_000;
const HIGHEST_NS = 600_000_000_000;
const BIN_NS = 100_000_000;
const BINS_PER_SECOND = 10;

export type Verdict = "acknowledged" | "insufficient" | "error";

/** When a request was intended, handed to its connection, and answered, in nanoseconds of the clock. */
export interface Times {
  readonly intended: number;
  readonly start: number;
  readonly end: number;
}

/** What was counted over all connections of a trial. */
export class Tally {
  acknowledged = 0;
  insufficient = 0;
  error = 0;
  inDoubt = 0;
  retried = 0;
  lostConnections = 0;
  firstError: string | null = null;
  windowAcknowledged = 0;
  windowCompleted = 0;
  /** Sum of the requests' overlaps with the window. */
  windowOutNs = 0;
  /** Sum of the service times of the requests that end inside the window. */
  windowServiceNs = 0;
  /** Acknowledgements by tenth of a second since the clock started. */
  readonly per100ms: number[] = [];
  readonly serviceTime: Histogram = createHistogram();
  readonly responseTime: Histogram = createHistogram();
  readonly #phases: Phases;

  constructor(phases: Phases) {
    this.#phases = phases;
  }

  get failed(): number {
    return this.insufficient + this.error;
  }

  answered(verdict: Verdict, { intended, start, end }: Times): void {
    const serviceNs = end - start;
    const endsInside = this.#phases.contains(end);
    this.windowOutNs += this.#phases.overlap(start, end);
    if (endsInside) {
      this.windowCompleted++;
      this.windowServiceNs += serviceNs;
    }
    this[verdict]++;
    if (verdict !== "acknowledged") return;
    this.#countBin(end);
    if (endsInside) {
      this.windowAcknowledged++;
      this.serviceTime.recordValue(bounded(serviceNs));
      this.responseTime.recordValue(bounded(end - intended));
    }
  }

  /** A request that nobody answered until `end`. */
  unanswered(start: number, end: number): void {
    this.inDoubt++;
    this.windowOutNs += this.#phases.overlap(start, end);
  }

  /** Acknowledgements by whole second since the clock started. */
  get perSecond(): number[] {
    const seconds = new Array<number>(Math.ceil(this.per100ms.length / BINS_PER_SECOND)).fill(0);
    for (const [bin, count] of this.per100ms.entries()) seconds[Math.floor(bin / BINS_PER_SECOND)]! += count;
    return seconds;
  }

  #countBin(end: number): void {
    const bin = Math.floor(end / BIN_NS);
    while (this.per100ms.length <= bin) this.per100ms.push(0);
    this.per100ms[bin]!++;
  }
}

function createHistogram(): Histogram {
  return build({
    lowestDiscernibleValue: LOWEST_NS,
    highestTrackableValue: HIGHEST_NS,
    numberOfSignificantValueDigits: 3,
    bitBucketSize: 64,
    autoResize: false,
  });
}

function bounded(nanoseconds: number): number {
  return Math.min(Math.max(nanoseconds, LOWEST_NS), HIGHEST_NS);
}
