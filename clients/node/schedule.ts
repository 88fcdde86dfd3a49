import type { Config } from "./config.ts";
import { EXIT_CONFIGURATION, Failure } from "./failure.ts";

const NANOSECONDS_PER_SECOND = 1e9;

export const toNanoseconds = (seconds: number): number => Math.round(seconds * NANOSECONDS_PER_SECOND);
export const toSeconds = (nanoseconds: number): number => nanoseconds / NANOSECONDS_PER_SECOND;

/** Nanoseconds since the clock started; a double holds them exactly for 104 days. */
export class Clock {
  readonly #startMs: number;

  constructor(startMs = performance.now()) {
    this.#startMs = startMs;
  }

  /** The clock that starts at a moment of the wall clock, once that has come; one that is past is refused. */
  static async startingAt(unixS: number): Promise<Clock> {
    // The wall clock in microseconds: Date.now() has milliseconds only.
    const clock = new Clock(unixS * 1000 - performance.timeOrigin);
    const late = clock.now();
    if (late > 0) {
      const past = `start_unix_s: ${unixS} is refused, ${late / 1e9} s before the connections were up`;
      throw new Failure(EXIT_CONFIGURATION, `${past}; allowed: a moment that is still to come then`);
    }
    // A timer may come a little early.
    for (let now = late; now < 0; now = clock.now()) {
      await new Promise((resolve) => setTimeout(resolve, -now / 1e6));
    }
    return clock;
  }

  now(): number {
    return Math.round((performance.now() - this.#startMs) * 1e6);
  }
}

/** Warm-up, window, drain, in nanoseconds of the clock; both edges belong to the window. */
export class Phases {
  readonly windowStart: number;
  readonly windowEnd: number;
  readonly drainEnd: number;

  constructor({ warmupS, windowS, drainS }: Pick<Config, "warmupS" | "windowS" | "drainS">) {
    this.windowStart = toNanoseconds(warmupS);
    this.windowEnd = this.windowStart + toNanoseconds(windowS);
    this.drainEnd = this.windowEnd + toNanoseconds(drainS);
  }

  name(now: number): "warmup" | "window" | "drain" {
    if (now < this.windowStart) return "warmup";
    return now < this.windowEnd ? "window" : "drain";
  }

  contains(time: number): boolean {
    return time >= this.windowStart && time <= this.windowEnd;
  }

  /** How much of the time from `start` to `end` lies inside the window. */
  overlap(start: number, end: number): number {
    return Math.max(0, Math.min(end, this.windowEnd) - Math.max(start, this.windowStart));
  }
}

/** The intended start of every operation. */
export class Schedule {
  readonly #connections: number;
  /** null is the closed loop. */
  readonly #nanosecondsPerOperation: number | null;

  constructor({ connections, ratePerS }: Pick<Config, "connections" | "ratePerS">) {
    this.#connections = connections;
    this.#nanosecondsPerOperation = ratePerS === null ? null : NANOSECONDS_PER_SECOND / ratePerS;
  }

  get isOpen(): boolean {
    return this.#nanosecondsPerOperation !== null;
  }

  /** Operations go round the connections; in the closed loop each is due at once. */
  intended(slot: number, index: number): number {
    if (this.#nanosecondsPerOperation === null) return 0;
    return Math.floor((index * this.#connections + slot) * this.#nanosecondsPerOperation);
  }
}
