import type { Config } from "./config.ts";

const NANOSECONDS_PER_SECOND = 1e9;

export const toNanoseconds = (seconds: number): number => Math.round(seconds * NANOSECONDS_PER_SECOND);
export const toSeconds = (nanoseconds: number): number => nanoseconds / NANOSECONDS_PER_SECOND;

/** Nanoseconds since the clock was made; a double holds them exactly for 104 days. */
export class Clock {
  readonly #startMs = performance.now();

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
