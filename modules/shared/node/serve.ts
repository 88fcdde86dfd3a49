import { once as event } from "node:events";
import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { type Configuration, ConfigurationError, oneOf, parseConfiguration } from "./configuration.ts";
import { listenOnBun } from "./bun.ts";
import { createRequestServer, routes, type Run } from "./http.ts";
import { type Levels, type Outcome, type Parsers, type Requests, requestsOf } from "./operation.ts";

const EXIT_CONFIGURATION = 2;
const EXIT_UNUSABLE = 3;
const CLOSE_TIMEOUT_MS = 5_000;

/** A system as its Node.js server needs it. */
export interface System<Address, Database> {
  /** The key of the configuration that holds the database's address. */
  readonly name: string;
  /** The folder that has one folder a workload, each with an operations.ts that exports `levels` and `parsers`. */
  readonly folder: string;
  parseAddress(address: unknown): Address;
  open(configuration: Configuration<Address>): Promise<Opened<Database>> | Opened<Database>;
}

export interface Opened<Database> {
  readonly database: Database;
  /** What the database and its driver say of themselves, for the ready line. */
  readonly settings: Readonly<Record<string, string>>;
  readonly run: Run;
  close(): Promise<void> | void;
}

/**
 * Reads one line of configuration, serves until standard input ends or SIGTERM comes, and says on standard output
 * when it is ready. A refused configuration ends the process with 2, a database that cannot be used with 3.
 */
export async function serve<Address, Database>(system: System<Address, Database>): Promise<void> {
  const input = createInterface({ input: process.stdin });
  const ended = event(input, "close");
  try {
    const [line = ""] = (await Promise.race([event(input, "line"), ended])) as [string?];
    await serveUntil(Promise.race([ended, event(process, "SIGTERM")]), system, line);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exit(error instanceof ConfigurationError ? EXIT_CONFIGURATION : EXIT_UNUSABLE);
  }
}

async function serveUntil<Address, Database>(
  end: Promise<unknown>,
  system: System<Address, Database>,
  line: string,
): Promise<void> {
  const configuration = parseConfiguration(line, system.name, (address) => system.parseAddress(address));
  const { levels, parsers } = await operationsOf<Database>(system.folder, configuration.workload);
  const loadLevel = levels[oneOf(configuration.access, "access", Object.keys(levels))]!;
  const makeOperations = await loadLevel();
  const { database, settings, run, close } = await system.open(configuration);
  const requests = requestsOf(parsers, makeOperations(database));
  const { port, stop } = await listening(requests, run, configuration.listen);
  process.stdout.write(`${JSON.stringify({ event: "ready", port, settings })}\n`);

  await end;
  setTimeout(() => process.exit(0), CLOSE_TIMEOUT_MS).unref();
  stop();
  await close();
  process.exit(0);
}

interface Listening {
  readonly port: number;
  stop(): void;
}

/** The server of the program that runs this. */
async function listening(requests: Requests, run: Run, listen: Configuration<unknown>["listen"]): Promise<Listening> {
  if (process.versions["bun"] !== undefined) {
    const server = listenOnBun(routes(requests), run, listen);
    return { port: server.port, stop: () => void server.stop(true) };
  }
  const server = createRequestServer(requests, run);
  server.listen(listen.port, listen.host);
  await event(server, "listening");
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, stop };
}

/** The program that runs this and its version, for the ready line. */
export function runtimeVersion(): Record<string, string> {
  const { bun, node } = process.versions;
  return bun === undefined ? { node } : { bun };
}

/** What an operations.ts exports. */
interface Exported<Database> {
  readonly levels: Levels<Database, Outcome | Promise<Outcome>>;
  readonly parsers: Parsers;
}

async function operationsOf<Database>(folder: string, workload: string): Promise<Exported<Database>> {
  const path = `${folder}/${workload}/operations.ts`;
  if (!existsSync(path)) throw new ConfigurationError(`workload: ${workload} is not served here; there is no ${path}`);
  return (await import(pathToFileURL(path).href)) as Exported<Database>;
}
