import { dirname } from "node:path";
import { npmVersion as drizzleVersion } from "drizzle-orm/version";
import pg from "pg";
import pgPackage from "pg/package.json" with { type: "json" };
import type { Configuration } from "../../shared/node/configuration.ts";
import { type Opened, runtimeVersion, serve } from "../../shared/node/serve.ts";
import { type Address, parseAddress } from "./address.ts";
import { retrying } from "./retry.ts";

await serve<Address, pg.Pool>({ name: "postgres", folder: dirname(import.meta.dirname), parseAddress, open });

async function open(configuration: Configuration<Address>): Promise<Opened<pg.Pool>> {
  const { address, poolSize, maxRetries, retryWait } = configuration;
  const pool = new pg.Pool({ ...address, max: poolSize, idleTimeoutMillis: 0 });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on("error", (error) => process.stderr.write(`postgres: ${error.message}\n`));
  return {
    database: pool,
    settings: await settingsOf(pool, configuration),
    run: retrying(maxRetries, retryWait),
    close: () => pool.end(),
  };
}

/** Opens every connection at once, so that a server's connection limit shows now and not under load. */
async function settingsOf(
  pool: pg.Pool,
  { address, poolSize, maxRetries, retryWait }: Configuration<Address>,
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
      ...(retryWait === null ? {} : { retry_wait_ms: `0 to ${retryWait.firstMs}, doubling to ${retryWait.mostMs}` }),
      ...runtimeVersion(),
      "drizzle-orm": drizzleVersion,
      pg: pgPackage.version,
      ...rows[0],
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`postgres: ${poolSize} connections to ${address.host}:${address.port} cannot be opened: ${reason}`);
  }
}
