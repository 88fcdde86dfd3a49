import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import type { Database } from "better-sqlite3";
import { npmVersion as drizzleVersion } from "drizzle-orm/version";
import { type Configuration, ConfigurationError, parseConfiguration } from "./configuration.ts";
import { openDatabase, readSettings } from "./database.ts";
import { createTransferServer } from "./http.ts";
import { type Access, operations } from "./operations/index.ts";

const EXIT_CONFIGURATION = 2;
const EXIT_UNUSABLE = 3;

const input = createInterface({ input: process.stdin });
const inputClosed = once(input, "close");
try {
  const [line = ""] = await Promise.race([once(input, "line") as Promise<[string]>, inputClosed as Promise<[]>]);
  await serve(parseConfiguration(line, Object.keys(operations) as Access[]));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(error instanceof ConfigurationError ? EXIT_CONFIGURATION : EXIT_UNUSABLE);
}

async function serve({ access, listen, sqlite }: Configuration<Access>): Promise<void> {
  const database = openDatabase(sqlite);
  const settings = { node: process.versions.node, "drizzle-orm": drizzleVersion, ...readSettings(database) };
  const server = createTransferServer(operations[access](database));
  server.listen(listen.port, listen.host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ event: "ready", port, settings })}\n`);

  await Promise.race([inputClosed, once(process, "SIGTERM")]);
  close(server, database);
}

function close(server: Server, database: Database): void {
  server.close();
  server.closeAllConnections();
  database.close();
  process.exit(0);
}
