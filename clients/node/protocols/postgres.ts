import pg from "pg";
import { type Outcome as Answer, Refused } from "../../../modules/shared/node/operation.ts";
import { levels } from "../../../modules/postgres/transfer/operations.ts";
import {
  type Driver,
  errorOutcome,
  hostAndPort,
  namesByKind,
  type Outcome,
  outcomeOf,
  type Protocol,
} from "../protocol.ts";
import type { Operation } from "../workload.ts";
import { procedures } from "./postgres/procedure.ts";

/** Makes one operation; rejects on everything that is neither done nor refused by name. */
export type PostgresCall = (operation: Operation) => Promise<Answer>;

/** Loads what finds out whether a connection can make the operations, and changes nothing. */
export type PostgresMode = () => Promise<(client: pg.Client) => Promise<PostgresCall>>;

/** A request refused with one of these would have been served at another moment. */
const RETRYABLE = ["40001", "40P01"];
const ENDING = ["FATAL", "PANIC"];

export const protocol: Protocol = {
  target(endpoint, { workload, inFlight, maxRetries, refused, refusedWorkload }) {
    const { host, port, address } = hostAndPort(endpoint);
    const mode = endpoint.has("mode") ? endpoint.choice("mode", ["procedure", "sql", "drizzle"]) : "procedure";
    if (mode !== "procedure") {
      if (workload.name !== "transfer") throw refusedWorkload(`"transfer" in mode "${mode}"`);
      if (inFlight > 1) throw refused("in_flight", `1 in mode "${mode}", whose transaction takes several round trips`);
      for (const key of ["function", "functions"]) {
        if (endpoint.has(key)) throw endpoint.refused(key, `no function in mode "${mode}"`);
      }
    }
    const functions = namesByKind(endpoint, "function", "functions", workload);
    const modes: Record<typeof mode, PostgresMode> = {
      procedure: procedures(functions, workload),
      sql: transaction("sql"),
      drizzle: transaction("drizzle"),
    };
    const login = {
      host,
      port,
      user: endpoint.text("user"),
      password: endpoint.text("password"),
      database: endpoint.text("database"),
    };
    return {
      name: `postgres at ${address}`,
      borrowed: ["modules/postgres", "modules/shared/node"],
      createDriver: (onLost) => {
        const client = new pg.Client({ ...login, pipeline: inFlight > 1 });
        return new PostgresDriver(client, modes[mode], maxRetries, onLost);
      },
    };
  },
};

/** The transfer in several round trips that the module's Node.js server makes too, from the same file. */
function transaction(level: string): PostgresMode {
  return async () => {
    const makeOperations = await levels[level]!();
    return async (client) => {
      // Says that the table is there, and prepares nothing: the first transfer does that, as behind a server.
      await client.query("SELECT id, balance FROM accounts LIMIT 0");
      const { transfer } = makeOperations(client);
      return ({ fields }) => transfer!(fields as never);
    };
  };
}

class PostgresDriver implements Driver {
  readonly #client: pg.Client;
  readonly #mode: PostgresMode;
  readonly #maxRetries: number;
  #call: PostgresCall = () => Promise.reject(new Error("not open"));

  constructor(client: pg.Client, mode: PostgresMode, maxRetries: number, onLost: (error: Error) => void) {
    this.#client = client;
    this.#mode = mode;
    this.#maxRetries = maxRetries;
    client.on("error", onLost);
    client.on("end", () => onLost(new Error("the server closed the connection")));
  }

  async open(): Promise<void> {
    const prepareCall = await this.#mode();
    await this.#client.connect();
    this.#call = await prepareCall(this.#client);
  }

  async send(operation: Operation, onSentAgain: () => void): Promise<Outcome> {
    for (let retries = 0; ; retries++) {
      try {
        return outcomeOf(await this.#call(operation));
      } catch (error) {
        const { message, state } = refusalOf(error);
        if (!RETRYABLE.includes(state) || retries === this.#maxRetries) return errorOutcome(message);
        onSentAgain();
      }
    }
  }

  close(): void {
    void this.#client.end().catch(() => {});
  }
}

/** The refusal, which Drizzle wraps in its own words. Throws what leaves the answer unknown. */
function refusalOf(error: unknown): { message: string; state: string } {
  const reason = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (reason instanceof Refused) return { message: reason.message, state: "" };
  // A session that is ended may have been about to commit.
  if (!(reason instanceof pg.DatabaseError) || ENDING.includes(reason.severity ?? "")) throw reason;
  const state = reason.code ?? "";
  return { message: `${reason.message} (SQLSTATE ${state})`, state };
}
