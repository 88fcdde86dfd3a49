import pg from "pg";
import {
  ACKNOWLEDGED,
  type Driver,
  errorOutcome,
  hostAndPort,
  INSUFFICIENT,
  type Outcome,
  type Protocol,
} from "../protocol.ts";
import { Refused } from "../refused.ts";
import type { Transfer } from "../work.ts";
import { procedureTransfer } from "./postgres/procedure.ts";
import { sqlTransfer } from "./postgres/sql.ts";

/** Makes one transfer; rejects on everything that is neither a transfer nor a refusal for lack of funds. */
export type PostgresTransfer = (transfer: Transfer) => Promise<"transferred" | "insufficient">;

/** Finds out whether the connection can make transfers, prepares what can be prepared, changes nothing. */
export type PostgresMode = (client: pg.Client) => Promise<PostgresTransfer>;

/** A request refused with one of these would have been served at another moment. */
const RETRYABLE = ["40001", "40P01"];
const ENDING = ["FATAL", "PANIC"];
const IDENTIFIER = /^[a-z_]{1,63}$/;

export const protocol: Protocol = {
  keys: ["host", "port", "user", "password", "database", "mode", "function"],
  target(endpoint, { inFlight, maxRetries, refused }) {
    const { host, port, address } = hostAndPort(endpoint);
    const mode = endpoint.has("mode") ? endpoint.choice("mode", ["procedure", "sql", "drizzle"]) : "procedure";
    if (mode !== "procedure" && inFlight > 1) {
      throw refused("in_flight", `1 in mode "${mode}", whose transaction takes several round trips`);
    }
    if (mode !== "procedure" && endpoint.has("function")) {
      throw endpoint.refused("function", `no function in mode "${mode}"`);
    }
    const name = endpoint.has("function")
      ? endpoint.text("function", "the name of a function, of a to z and _", (value) => IDENTIFIER.test(value))
      : "transfer";
    const modes: Record<typeof mode, PostgresMode> = {
      procedure: procedureTransfer(name),
      sql: sqlTransfer,
      drizzle: async (client) => (await import("./postgres/drizzle.ts")).drizzleTransfer(client),
    };
    const login = {
      host,
      port,
      user: endpoint.text("user"),
      password: endpoint.text("password", "a string", () => true),
      database: endpoint.text("database"),
    };
    return {
      name: `postgres at ${address}`,
      createDriver: (onLost) => {
        const client = new pg.Client({ ...login, pipeline: inFlight > 1 });
        return new PostgresDriver(client, modes[mode], maxRetries, onLost);
      },
    };
  },
};

class PostgresDriver implements Driver {
  readonly #client: pg.Client;
  readonly #mode: PostgresMode;
  readonly #maxRetries: number;
  #transfer: PostgresTransfer = () => Promise.reject(new Error("not open"));

  constructor(client: pg.Client, mode: PostgresMode, maxRetries: number, onLost: (error: Error) => void) {
    this.#client = client;
    this.#mode = mode;
    this.#maxRetries = maxRetries;
    client.on("error", onLost);
    client.on("end", () => onLost(new Error("the server closed the connection")));
  }

  async open(): Promise<void> {
    await this.#client.connect();
    this.#transfer = await this.#mode(this.#client);
  }

  async send(transfer: Transfer, onSentAgain: () => void): Promise<Outcome> {
    for (let retries = 0; ; retries++) {
      try {
        return (await this.#transfer(transfer)) === "transferred" ? ACKNOWLEDGED : INSUFFICIENT;
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
