import { once as event } from "node:events";
import { type Configuration, ConfigurationError, parseConfiguration } from "./configuration.ts";

const EXIT_CONFIGURATION = 2;
const EXIT_UNUSABLE = 3;
const CLOSE_TIMEOUT_MS = 5_000;

/** Serves Payload's REST interface until SIGTERM comes. */
async function main(configuration: Configuration): Promise<void> {
  // Payload makes tables in development only; read as it is imported.
  process.env["NODE_ENV"] = configuration.prepare ? "development" : "production";
  const [{ buildConfig, getPayload, handleEndpoints }, { sqliteAdapter }, { definitionOf }, { createWebServer }] =
    await Promise.all([
      import("payload"),
      import("@payloadcms/db-sqlite"),
      import("./workload.ts"),
      import("./http.ts"),
    ]);
  const { collections, endpoints = [], prepare } = await definitionOf(configuration.workload);
  const config = await buildConfig({
    collections,
    endpoints,
    db: sqliteAdapter({ client: { url: `file:${configuration.path}` }, wal: configuration.wal }),
    secret: "a secret of no worth",
    telemetry: false,
    graphQL: { disable: true },
    typescript: { autoGenerate: false },
  });
  const payload = await getPayload({ config });
  if (configuration.prepare) await prepare(payload);

  const server = createWebServer((request) => handleEndpoints({ config, request }));
  server.listen(configuration.port, "127.0.0.1");
  await event(server, "listening");
  process.stdout.write(`${JSON.stringify({ event: "ready", port: configuration.port })}\n`);

  await event(process, "SIGTERM");
  setTimeout(() => process.exit(0), CLOSE_TIMEOUT_MS).unref();
  server.close();
  server.closeAllConnections();
  await payload.destroy();
  process.exit(0);
}

try {
  await main(parseConfiguration(process.argv[2] ?? ""));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(error instanceof ConfigurationError ? EXIT_CONFIGURATION : EXIT_UNUSABLE);
}
