import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { npmVersion as drizzleVersion } from "drizzle-orm/version";
import pg from "pg";
import pgPackage from "pg/package.json" with { type: "json" };
import { type Configuration, ConfigurationError, parseConfiguration } from "./configuration.ts";
import { createTransferServer } from "./http.ts";
import { type Access, operations } from "./operations/index.ts";

const EXIT_CONFIGURATION = 2;
const EXIT_UNUSABLE = 3;
const CLOSE_TIMEOUT_MS = 5_000;

const input = createInterface({ input: process.stdin });
const inputClosed = once(input, "close");
try {
  const [line = ""] = await Promise.race([once(input, "line") as Promise<[string]>, inputClosed as Promise<[]>]);
  await serve(parseConfiguration(line, Object.keys(operations) as Access[]));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(error instanceof ConfigurationError ? EXIT_CONFIGURATION : EXIT_UNUSABLE);
}

async function serve(configuration: Configuration<Access>): Promise<void> {
  const { access, listen, poolSize, maxRetries } = configuration;
  const pool = new pg.Pool({ ...configuration.postgres, max: poolSize, idleTimeoutMillis: 0 });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on("error", (error) => process.stderr.write(`postgres: ${error.message}\n`));

  const settings = await openPool(pool, configuration);
  const server = createTransferServer(operations[access](pool), maxRetries);
  server.listen(listen.port, listen.host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ event: "ready", port, settings })}\n`);

  await Promise.race([inputClosed, once(process, "SIGTERM")]);
  await close(server, pool);
}

/** Opens every connection at once, so that a server's connection limit shows now and not under load. */
async function openPool(
  pool: pg.Pool,
  { postgres, poolSize, maxRetries }: Configuration<Access>,
): Promise<Record<string, string>> {
  try {
    const clients = await Promise.all(Array.from({ length: poolSize }, () => pool.connect()));
    for (const client of clients) client.release();
    const { rows } = await pool.query<Record<string, string>>(
      "SELECT current_setting('transaction_isolation') AS transaction_isolation," +
        " current_setting('synchronous_commit') AS synchronous_commit",
    );
    return {
      pool_size: String(poolSize),
      max_retries: String(maxRetries),
      node: process.versions.node,
      "drizzle-orm": drizzleVersion,
      pg: pgPackage.version,
      ...rows[0],
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`postgres: ${poolSize} connections to ${postgres.host}:${postgres.port} cannot be opened: ${reason}`);
  }
}

async function close(server: Server, pool: pg.Pool): Promise<void> {
  setTimeout(() => process.exit(0), CLOSE_TIMEOUT_MS).unref();
  server.close();
  server.closeAllConnections();
  await pool.end();
  process.exit(0);
}
