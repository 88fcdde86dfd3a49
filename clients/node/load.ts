import type { Config } from "./config.ts";
import { HttpConnection } from "./http.ts";
import { emit, emitProgress } from "./progress.ts";
import { Tally, type Verdict } from "./tally.ts";
import { Clock, Phases, Schedule, toNanoseconds, toSeconds } from "./schedule.ts";
import { Work } from "./work.ts";

const TICK_NS = 1e9;
/** The finest a Node timer gets; an operation released later than intended shows in its response time. */
const RELEASE_EVERY_NS = 1e6;

/** One connection's part of the load. */
export class ConnectionLoad {
  readonly number: number;
  readonly slot: number;
  readonly http: HttpConnection;
  issued = 0;
  answered = 0;
  lost = false;
  /** Starts of the requests that are out, a ring over the index. */
  readonly starts: Float64Array;
  readonly failed: [number, Verdict][] = [];
  readonly inDoubt: number[] = [];

  constructor(number: number, slot: number, inFlight: number, http: HttpConnection) {
    this.number = number;
    this.slot = slot;
    this.http = http;
    this.starts = new Float64Array(inFlight);
  }

  get out(): number {
    return this.issued - this.answered;
  }

  startOf(index: number): number {
    return this.starts[index % this.starts.length]!;
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
  readonly #work: Work;
  readonly #inFlight: number;
  readonly #requestTimeout: number;
  #clock = new Clock();
  #nextTick = TICK_NS;
  #nextTimeoutCheck = 0;
  #cpuAtWindowStart: NodeJS.CpuUsage | null = null;
  #windowEnded = false;
  #timer: NodeJS.Timeout | undefined;
  #end: () => void = () => {};

  constructor(config: Config) {
    this.#work = new Work(config.workload);
    this.#inFlight = config.inFlight;
    this.#requestTimeout = toNanoseconds(config.requestTimeoutS);
    this.phases = new Phases(config);
    this.schedule = new Schedule(config);
    this.tally = new Tally(this.phases);
    this.connections = Array.from({ length: config.connections }, (_, slot) => {
      const http = new HttpConnection(config.endpoint, config.inFlight, (reason) => this.#lose(slot, reason));
      return new ConnectionLoad(config.firstConnection + slot, slot, config.inFlight, http);
    });
  }

  async run(): Promise<void> {
    await Promise.all(this.connections.map(({ http }) => http.open()));
    emit("ready");
    const ended = new Promise<void>((resolve) => (this.#end = resolve));
    this.startedUnixS = Date.now() / 1000;
    this.#clock = new Clock();
    for (const connection of this.connections) this.#issue(connection);
    this.#keepTime();
    await ended;
  }

  /** Hands over every request that is due and fits in flight. */
  #issue(connection: ConnectionLoad): void {
    while (!connection.lost && connection.out < this.#inFlight) {
      const index = connection.issued;
      const transfer = this.#work.draw(connection.number, index);
      const now = this.#clock.now();
      if (now >= this.phases.windowEnd || this.schedule.intended(connection.slot, index) > now) return;
      connection.starts[index % this.#inFlight] = now;
      connection.issued++;
      connection.http.send(transfer, (verdict, text) => this.#settle(connection, index, verdict, text));
    }
  }

  #settle(connection: ConnectionLoad, index: number, verdict: Verdict, text: string): void {
    if (connection.lost) return;
    const end = this.#clock.now();
    const start = connection.startOf(index);
    const intended = this.schedule.isOpen ? this.schedule.intended(connection.slot, index) : start;
    connection.answered++;
    if (verdict !== "acknowledged") connection.failed.push([index, verdict]);
    if (verdict === "error") this.tally.firstError ??= text;
    this.tally.answered(verdict, { intended, start, end });
    if (end < this.phases.windowEnd) this.#issue(connection);
    else if (connection.out === 0) this.#keepTime();
  }

  #lose(slot: number, reason: string): void {
    const connection = this.connections[slot];
    if (connection === undefined || connection.lost) return;
    this.tally.lostConnections++;
    emit("connection_lost", { connection: connection.number, reason });
    this.#giveUp(connection);
  }

  /** What is out on the connection is in doubt from now on. */
  #giveUp(connection: ConnectionLoad): void {
    const now = this.#clock.now();
    connection.lost = true;
    connection.http.close();
    for (let index = connection.answered; index < connection.issued; index++) {
      this.tally.unanswered(connection.startOf(index), now);
      connection.inDoubt.push(index);
    }
    connection.answered = connection.issued;
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
    if (this.schedule.isOpen) for (const connection of this.connections) this.#issue(connection);
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

  /** Answers come in order, so a connection is late when its oldest request is. */
  #checkTimeouts(now: number): void {
    this.#nextTimeoutCheck = now + this.#requestTimeout;
    for (const connection of this.connections) {
      if (connection.out === 0) continue;
      const lateAt = connection.startOf(connection.answered) + this.#requestTimeout;
      if (lateAt > now) this.#nextTimeoutCheck = Math.min(this.#nextTimeoutCheck, lateAt);
      else this.#lose(connection.slot, `no answer within ${toSeconds(this.#requestTimeout)} s`);
    }
  }

  #deadline(now: number): number {
    const { windowStart, windowEnd, drainEnd } = this.phases;
    const edge = [windowStart, windowEnd, drainEnd].find((time) => time > now) ?? now;
    const release = this.schedule.isOpen && now < windowEnd ? now + RELEASE_EVERY_NS : Infinity;
    return Math.min(edge, this.#nextTick, this.#nextTimeoutCheck, release);
  }

  #isOver(now: number): boolean {
    return this.#windowEnded && (now >= this.phases.drainEnd || this.connections.every(({ out }) => out === 0));
  }

  #finish(now: number): void {
    this.drainedS = toSeconds(now - this.phases.windowEnd);
    for (const connection of this.connections) this.#giveUp(connection);
    this.#end();
  }
}
