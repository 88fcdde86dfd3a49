import Database from "better-sqlite3";
import type { Operations, Outcome as Answer } from "../../../modules/shared/node/operation.ts";
import { levels as chat } from "../../../modules/sqlite/chat/operations.ts";
import { levels as countersAndMessages } from "../../../modules/sqlite/counter-and-messages/operations.ts";
import { levels as transfers } from "../../../modules/sqlite/transfer/operations.ts";
import { messageOf } from "../failure.ts";
import { type Driver, errorOutcome, type Outcome, outcomeOf, type Protocol } from "../protocol.ts";
import type { Operation } from "../workload.ts";

/** Loads what makes the operations of a workload in one mode; throws on everything that is neither done nor refused by name. */
type LoadMode = () => Promise<(database: Database.Database) => Operations<Answer>>;

/** By workload and mode: the operations of the module, from the files that its Node.js server runs too. */
const MODES: Readonly<Record<string, Readonly<Record<string, LoadMode>>>> = {
  transfer: { sql: transfers["sql"]!, drizzle: transfers["drizzle"]! },
  chat,
  "counter-and-messages": { sql: countersAndMessages["sql"]! },
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
      borrowed: ["modules/sqlite", "modules/shared/node"],
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
  readonly #loadMode: LoadMode;
  #opened: Promise<void> | undefined;
  #settings: Record<string, string> = {};
  #operations: Operations<Answer> = {};

  constructor(path: string, synchronous: string, loadMode: LoadMode) {
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
    const makeOperations = await this.#loadMode();
    // A wrong path must not become an empty database.
    const database = new Database(this.#path, { fileMustExist: true });
    database.pragma(`synchronous = ${this.#synchronous}`);
    const { sqlite_version } = database.prepare("SELECT sqlite_version() AS sqlite_version").get() as {
      sqlite_version: string;
    };
    const readBack = READ_BACK.map((name) => [name, String(database.pragma(name, { simple: true }))]);
    this.#settings = { sqlite_version, ...Object.fromEntries(readBack) };
    this.#operations = makeOperations(database);
  }

  async send({ kind, fields }: Operation): Promise<Outcome> {
    try {
      return outcomeOf(this.#operations[kind]!(fields as never));
    } catch (error) {
      return errorOutcome(messageOf(error));
    }
  }

  /** The handle ends with the process: the connections share it. */
  close(): void {}
}
