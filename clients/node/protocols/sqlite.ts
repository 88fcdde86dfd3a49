import Database from "better-sqlite3";
import { messageOf } from "../failure.ts";
import { type Driver, errorOutcome, type Outcome, type Protocol } from "../protocol.ts";
import type { Operation } from "../workload.ts";
import { drizzleChat, sqlChat } from "./sqlite/chat.ts";
import { sqlCounterAndMessages } from "./sqlite/counter_and_messages.ts";
import { sqlTransfer } from "./sqlite/sql.ts";

/** Makes one operation before it returns; throws on everything that is neither done nor a refusal by name. */
export type SqliteCall = (operation: Operation) => Outcome;

export type SqliteMode = (database: Database.Database) => SqliteCall;

/** By workload and mode. */
const MODES: Readonly<Record<string, Readonly<Record<string, () => Promise<SqliteMode>>>>> = {
  transfer: {
    sql: async () => sqlTransfer,
    drizzle: async () => (await import("./sqlite/drizzle.ts")).drizzleTransfer,
  },
  chat: {
    sql: async () => sqlChat,
    drizzle: async () => drizzleChat(true),
    "drizzle-unchecked": async () => drizzleChat(false),
  },
  "counter-and-messages": { sql: async () => sqlCounterAndMessages },
};

const READ_BACK = ["journal_mode", "synchronous", "page_size", "cache_size", "wal_autocheckpoint"];

export const protocol: Protocol = {
  target(endpoint, { workload, inFlight, refused, refusedWorkload }) {
    const modes = MODES[workload.name];
    if (modes === undefined) throw refusedWorkload(`${Object.keys(MODES).join(", ")} for protocol "sqlite"`);
    if (inFlight > 1) throw refused("in_flight", '1 for protocol "sqlite", whose engine runs one transaction at a time');
    if (endpoint.has("others")) throw endpoint.refused("others", "nothing: this client writes one database");
    const path = endpoint.text("path");
    const mode = endpoint.has("mode") ? endpoint.choice("mode", Object.keys(modes)) : "sql";
    const synchronous = endpoint.choice("synchronous", ["EXTRA", "FULL", "NORMAL", "OFF"]);
    const engine = new SqliteEngine(path, synchronous, modes[mode]!);
    return {
      name: `sqlite at ${path}`,
      inProcess: true,
      engine: () => engine.settings,
      createDriver: () => engine,
    };
  },
};

/** The one handle of this process on the database; a second would only empty the page cache of the first. */
class SqliteEngine implements Driver {
  readonly #path: string;
  readonly #synchronous: string;
  readonly #loadMode: () => Promise<SqliteMode>;
  #opened: Promise<void> | undefined;
  #settings: Record<string, string> = {};
  #call: SqliteCall = () => {
    throw new Error("not open");
  };

  constructor(path: string, synchronous: string, loadMode: () => Promise<SqliteMode>) {
    this.#path = path;
    this.#synchronous = synchronous;
    this.#loadMode = loadMode;
  }

  get settings(): Record<string, string> {
    return this.#settings;
  }

  open(): Promise<void> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open(): Promise<void> {
    const createCall = await this.#loadMode();
    // A wrong path must not become an empty database.
    const database = new Database(this.#path, { fileMustExist: true });
    database.pragma(`synchronous = ${this.#synchronous}`);
    const { sqlite_version } = database.prepare("SELECT sqlite_version() AS sqlite_version").get() as {
      sqlite_version: string;
    };
    const readBack = READ_BACK.map((name) => [name, String(database.pragma(name, { simple: true }))]);
    this.#settings = { sqlite_version, ...Object.fromEntries(readBack) };
    this.#call = createCall(database);
  }

  async send(operation: Operation): Promise<Outcome> {
    try {
      return this.#call(operation);
    } catch (error) {
      return errorOutcome(messageOf(error));
    }
  }

  /** The handle ends with the process: the connections share it. */
  close(): void {}
}
