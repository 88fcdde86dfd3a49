import { build, type Histogram } from "hdr-histogram-js";
import { ERROR } from "./protocol.ts";
import type { Phases } from "./schedule.ts";
import type { Operations } from "./workload.ts";

const LOWEST_NS = 1_000;
const HIGHEST_NS = 600_000_000_000;
const BIN_NS = 100_000_000;
const BINS_PER_SECOND = 10;
const TIMEOUT = "timeout";

/** When a request was intended, handed to its connection, and answered, in nanoseconds of the clock. */
export interface Times {
  readonly intended: number;
  readonly start: number;
  readonly end: number;
}

/** What was counted of one kind of operation, or of all. */
export class Counts {
  acknowledged = 0;
  inDoubt = 0;
  windowAcknowledged = 0;
  windowCompleted = 0;
  /** By the name of the refusal; every name that there can be is there. */
  readonly failed: Record<string, number>;
  readonly serviceTime: Histogram = createHistogram();
  readonly responseTime: Histogram = createHistogram();

  constructor(refusals: readonly string[]) {
    this.failed = Object.fromEntries([...refusals, ERROR, TIMEOUT].map((name) => [name, 0]));
  }

  get failures(): number {
    return sum(Object.values(this.failed));
  }

  get attempted(): number {
    return this.acknowledged + this.failures + this.inDoubt;
  }

  add(other: Counts): void {
    this.acknowledged += other.acknowledged;
    this.inDoubt += other.inDoubt;
    this.windowAcknowledged += other.windowAcknowledged;
    this.windowCompleted += other.windowCompleted;
    for (const [name, count] of Object.entries(other.failed)) this.failed[name]! += count;
    this.serviceTime.add(other.serviceTime);
    this.responseTime.add(other.responseTime);
  }
}

/** What was counted over all connections of a trial. */
export class Tally {
  retried = 0;
  lostConnections = 0;
  firstError: string | null = null;
  /** Sum of the requests' overlaps with the window. */
  windowOutNs = 0;
  /** Sum of the service times of the requests that end inside the window. */
  windowServiceNs = 0;
  /** Acknowledgements by tenth of a second since the clock started. */
  readonly per100ms: number[] = [];
  readonly kinds: ReadonlyMap<string, Counts>;
  readonly #phases: Phases;

  readonly #refusals: readonly string[];

  constructor(phases: Phases, { kinds, refusals }: Operations) {
    this.#phases = phases;
    this.#refusals = refusals;
    this.kinds = new Map(Object.keys(kinds).map((kind) => [kind, new Counts(refusals)] as const));
  }

  get acknowledged(): number {
    return sum(this.#each(({ acknowledged }) => acknowledged));
  }

  get failed(): number {
    return sum(this.#each(({ failures }) => failures));
  }

  /** The counts of all kinds together. */
  total(): Counts {
    const total = new Counts(this.#refusals);
    for (const counts of this.kinds.values()) total.add(counts);
    return total;
  }

  /** `refusal` is null of what is acknowledged. */
  answered(kind: string, refusal: string | null, { intended, start, end }: Times): void {
    const counts = this.kinds.get(kind)!;
    const serviceNs = end - start;
    const endsInside = this.#phases.contains(end);
    this.windowOutNs += this.#phases.overlap(start, end);
    if (endsInside) {
      counts.windowCompleted++;
      this.windowServiceNs += serviceNs;
    }
    if (refusal !== null) {
      counts.failed[refusal]!++;
      return;
    }
    counts.acknowledged++;
    this.#countBin(end);
    if (endsInside) {
      counts.windowAcknowledged++;
      counts.serviceTime.recordValue(bounded(serviceNs));
      counts.responseTime.recordValue(bounded(end - intended));
    }
  }

  /** A request that nobody answered until `end`. */
  unanswered(kind: string, start: number, end: number): void {
    this.kinds.get(kind)!.inDoubt++;
    this.windowOutNs += this.#phases.overlap(start, end);
  }

  /** Acknowledgements by whole second since the clock started. */
  get perSecond(): number[] {
    const seconds = new Array<number>(Math.ceil(this.per100ms.length / BINS_PER_SECOND)).fill(0);
    for (const [bin, count] of this.per100ms.entries()) seconds[Math.floor(bin / BINS_PER_SECOND)]! += count;
    return seconds;
  }

  #each(read: (counts: Counts) => number): number[] {
    return [...this.kinds.values()].map(read);
  }

  #countBin(end: number): void {
    const bin = Math.floor(end / BIN_NS);
    while (this.per100ms.length <= bin) this.per100ms.push(0);
    this.per100ms[bin]!++;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
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
