import type { Config } from "./config.ts";
import { EXIT_ENDPOINT, Failure, messageOf } from "./failure.ts";
import { emit, emitProgress } from "./progress.ts";
import { type Driver, ERROR, type Outcome, type Target } from "./protocol.ts";
import { Tally } from "./tally.ts";
import { Clock, Phases, Schedule, toNanoseconds, toSeconds } from "./schedule.ts";
import type { Workload } from "./workload.ts";

const OPEN_TIMEOUT_MS = 10_000;
const TICK_NS = 1e9;
/** An engine inside this process leaves the thread to timers, which mark the window's edges, this often. */
const SLICE_NS = 5e5;
/** The finest a Node timer gets; an operation released later than intended shows in its response time. */
const RELEASE_EVERY_NS = 1e6;

/** A request that is out: its kind, when it was first sent, when last, and how often again. */
interface RequestOut {
  readonly kind: string;
  readonly start: number;
  lastSent: number;
  retries: number;
}

/** One connection's part of the load. */
export class ConnectionLoad {
  readonly number: number;
  readonly slot: number;
  readonly driver: Driver;
  issued = 0;
  lost = false;
  /** The requests that are out by their index, in the order in which they were last sent. */
  readonly out = new Map<number, RequestOut>();
  readonly failed: [number, string][] = [];
  readonly inDoubt: number[] = [];
  readonly retried: number[] = [];

  constructor(number: number, slot: number, driver: Driver) {
    this.number = number;
    this.slot = slot;
    this.driver = driver;
  }
}

/** Drives all connections through warm-up, window and drain; afterwards it holds what was counted. */
export class Load {
  readonly connections: ConnectionLoad[];
  readonly tally: Tally;
  readonly phases: Phases;
  readonly schedule: Schedule;
  startedUnixS = 0;
  drainedS = 0;
  windowCpu: NodeJS.CpuUsage = { user: 0, system: 0 };
  readonly #target: Target;
  readonly #workload: Workload;
  readonly #inFlight: number;
  readonly #requestTimeout: number;
  readonly #startUnixS: number | null;
  readonly #linger: number;
  #clock = new Clock();
  #nextTick = TICK_NS;
  #nextTimeoutCheck = 0;
  #turn = 0;
  #sliceEnd = 0;
  #cpuAtWindowStart: NodeJS.CpuUsage | null = null;
  #windowEnded = false;
  #timer: NodeJS.Timeout | undefined;
  #end: () => void = () => {};
  #fail: (error: Error) => void = () => {};

  constructor(config: Config) {
    this.#target = config.target;
    this.#workload = config.workload;
    this.#inFlight = config.inFlight;
    this.#requestTimeout = toNanoseconds(config.requestTimeoutS);
    this.#startUnixS = config.startUnixS;
    this.#linger = toNanoseconds(config.lingerS);
    this.phases = new Phases(config);
    this.schedule = new Schedule(config);
    this.tally = new Tally(this.phases, config.workload);
    this.connections = Array.from({ length: config.connections }, (_, slot) => {
      const driver = config.target.createDriver((error) => this.#lose(this.connections[slot]!, error));
      return new ConnectionLoad(config.firstConnection + slot, slot, driver);
    });
  }

  async run(): Promise<void> {
    const ended = new Promise<void>((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    await Promise.race([this.#open(), ended]);
    emit("ready");
    if (this.#startUnixS === null) {
      this.startedUnixS = Date.now() / 1000;
      this.#clock = new Clock();
    } else {
      await Promise.race([this.#startAt(this.#startUnixS), ended]);
    }
    this.#issueAll();
    this.#keepTime();
    await ended;
  }

  async #startAt(unixS: number): Promise<void> {
    this.#clock = await Clock.startingAt(unixS);
    this.startedUnixS = unixS;
  }

  async #open(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((_, reject) => {
      const error = new Error(`no connection within ${OPEN_TIMEOUT_MS / 1000} s`);
      timer = setTimeout(() => reject(error), OPEN_TIMEOUT_MS);
    });
    try {
      await Promise.race([Promise.all(this.connections.map(({ driver }) => driver.open())), late]);
    } catch (error) {
      if (error instanceof Failure) throw error;
      throw new Failure(EXIT_ENDPOINT, `${this.#target.name}: ${messageOf(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }

  #issueAll(): void {
    if (this.#target.inProcess) this.#issue(this.connections[this.#turn]!);
    else for (const connection of this.connections) this.#issue(connection);
  }

  #issueAfter(connection: ConnectionLoad, now: number): void {
    if (!this.#target.inProcess) return this.#issue(connection);
    this.#turn = (this.#turn + 1) % this.connections.length;
    const next = this.connections[this.#turn]!;
    if (now < this.#sliceEnd) return this.#issue(next);
    setImmediate(() => {
      this.#sliceEnd = this.#clock.now() + SLICE_NS;
      this.#issue(next);
    });
  }

  /** Hands over every request that is due and fits in flight. */
  #issue(connection: ConnectionLoad): void {
    while (!connection.lost && connection.out.size < this.#inFlight) {
      const index = connection.issued;
      const operation = this.#workload.draw(connection.number, index);
      const now = this.#clock.now();
      if (now >= this.phases.windowEnd || this.schedule.intended(connection.slot, index) > now) return;
      connection.out.set(index, { kind: operation.kind, start: now, lastSent: now, retries: 0 });
      connection.issued++;
      connection.driver.send(operation, () => this.#sentAgain(connection, index)).then(
        (outcome) => this.#settle(connection, index, outcome),
        (error) => this.#lose(connection, error),
      );
    }
  }

  #sentAgain(connection: ConnectionLoad, index: number): void {
    const request = connection.out.get(index);
    if (request === undefined) return;
    this.#countRetries(connection, index, request, 1);
    request.lastSent = this.#clock.now();
    connection.out.delete(index);
    connection.out.set(index, request);
  }

  #countRetries(connection: ConnectionLoad, index: number, request: RequestOut, retries: number): void {
    if (retries === 0) return;
    if (request.retries === 0) connection.retried.push(index);
    request.retries += retries;
    this.tally.retried += retries;
  }

  #settle(connection: ConnectionLoad, index: number, { refusal, text, retries }: Outcome): void {
    const request = connection.out.get(index);
    if (request === undefined) return;
    const end = this.#clock.now();
    const { kind, start } = request;
    const intended = this.schedule.isOpen ? this.schedule.intended(connection.slot, index) : start;
    connection.out.delete(index);
    if (refusal !== null) connection.failed.push([index, refusal]);
    if (refusal === ERROR) this.tally.firstError ??= text;
    this.#countRetries(connection, index, request, retries);
    this.tally.answered(kind, refusal, { intended, start, end });
    if (end < this.phases.windowEnd) this.#issueAfter(connection, end);
    else if (connection.out.size === 0) this.#keepTime();
  }

  #lose(connection: ConnectionLoad, error: Error): void {
    if (error instanceof Failure) return this.#fail(error);
    if (connection.lost) return;
    this.tally.lostConnections++;
    emit("connection_lost", { connection: connection.number, reason: messageOf(error) });
    this.#giveUp(connection);
  }

  /** What is out on the connection is in doubt from now on. */
  #giveUp(connection: ConnectionLoad): void {
    const now = this.#clock.now();
    connection.lost = true;
    connection.driver.close();
    for (const [index, { kind, start }] of connection.out) {
      this.tally.unanswered(kind, start, now);
      connection.inDoubt.push(index);
    }
    connection.out.clear();
  }

  /** Everything that is due by the clock and not by an answer. */
  #keepTime(): void {
    clearTimeout(this.#timer);
    const now = this.#clock.now();
    this.#markEdges(now);
    if (now >= this.#nextTick) {
      this.#nextTick = (Math.floor(now / TICK_NS) + 1) * TICK_NS;
      emitProgress(this.phases.name(now), now, this.tally.acknowledged, this.tally.failed);
    }
    if (now >= this.#nextTimeoutCheck) this.#checkTimeouts(now);
    if (this.schedule.isOpen) this.#issueAll();
    if (this.#isOver(now)) this.#finish(now);
    else this.#timer = setTimeout(() => this.#keepTime(), (this.#deadline(now) - now) / 1e6);
  }

  #markEdges(now: number): void {
    if (this.#cpuAtWindowStart === null && now >= this.phases.windowStart) {
      this.#cpuAtWindowStart = process.cpuUsage();
      emit("window_start");
    }
    if (this.#cpuAtWindowStart !== null && !this.#windowEnded && now >= this.phases.windowEnd) {
      this.windowCpu = process.cpuUsage(this.#cpuAtWindowStart);
      this.#windowEnded = true;
      emit("window_end");
    }
  }

  #checkTimeouts(now: number): void {
    this.#nextTimeoutCheck = now + this.#requestTimeout;
    for (const connection of this.connections) {
      const [oldest] = connection.out.values();
      if (oldest === undefined) continue;
      const lateAt = oldest.lastSent + this.#requestTimeout;
      if (lateAt > now) this.#nextTimeoutCheck = Math.min(this.#nextTimeoutCheck, lateAt);
      else this.#lose(connection, new Error(`no answer within ${toSeconds(this.#requestTimeout)} s`));
    }
  }

  #deadline(now: number): number {
    const { windowStart, windowEnd, drainEnd } = this.phases;
    const edge = [windowStart, windowEnd, drainEnd].find((time) => time > now) ?? now;
    const release = this.schedule.isOpen && now < windowEnd ? now + RELEASE_EVERY_NS : Infinity;
    return Math.min(edge, this.#nextTick, this.#nextTimeoutCheck, release);
  }

  #isOver(now: number): boolean {
    return this.#windowEnded && (now >= this.phases.drainEnd || this.connections.every(({ out }) => out.size === 0));
  }

  /** The load is over, though connections may stay open for a while. */
  #finish(now: number): void {
    this.drainedS = toSeconds(now - this.phases.windowEnd);
    const left = this.phases.windowEnd + this.#linger - now;
    const close = (): void => {
      for (const connection of this.connections) this.#giveUp(connection);
      this.#end();
    };
    if (left > 0) this.#timer = setTimeout(close, left / 1e6);
    else close();
  }
}
