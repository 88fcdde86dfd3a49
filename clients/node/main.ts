import { readFileSync } from "node:fs";
import { CONTRACT_VERSION, parseConfig, parseDrawConfig } from "./config.ts";
import { EXIT_CONFIGURATION, EXIT_INTEGRITY, Failure, messageOf } from "./failure.ts";
import { description } from "./identity.ts";
import { Load } from "./load.ts";
import { emit } from "./progress.ts";
import { protocolNames } from "./protocol.ts";
import { createReport } from "./report.ts";
import { workloadNames } from "./workload.ts";

const STANDARD_INPUT = 0;
const DRAWN_LINES = 10_000;

process.on("uncaughtException", fail);
try {
  await run(process.argv.slice(2));
  // A connection that does not close in time must not keep the client from ending.
  process.exit(0);
} catch (error) {
  fail(error);
}

function fail(error: unknown): never {
  emit("error", { message: messageOf(error) });
  process.exit(error instanceof Failure ? error.exitCode : EXIT_INTEGRITY);
}

async function run(options: string[]): Promise<void> {
  const option = options.join(" ");
  if (option === "") return loadEndpoint();
  if (option === "--describe") return describe();
  if (option === "--draw") return draw();
  throw new Failure(EXIT_CONFIGURATION, `arguments: ${option} is refused; allowed: none, --describe or --draw`);
}

async function loadEndpoint(): Promise<void> {
  const config = await parseConfig(readFileSync(STANDARD_INPUT, "utf8"));
  const load = new Load(config);
  await load.run();
  await print(`${JSON.stringify(createReport(config, load))}\n`);
}

/** Resolves when the reader has it all: a pipe takes 64 KB at once, and the process ends after this. */
function print(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

async function describe(): Promise<void> {
  const able = { protocols: protocolNames, workloads: workloadNames, reports: "indices" };
  await print(`${JSON.stringify({ contract: CONTRACT_VERSION, ...description, ...able })}\n`);
}

async function draw(): Promise<void> {
  const { workload, connection, firstIndex, count } = await parseDrawConfig(readFileSync(STANDARD_INPUT, "utf8"));
  let lines = "";
  for (let place = 0; place < count; place++) {
    const index = firstIndex + place;
    const { kind, fields } = workload.draw(connection, index);
    const values = Object.keys(workload.kinds[kind]!).map((field) => fields[field]);
    lines += `${[index, kind, ...values].join(" ")}\n`;
    if (place % DRAWN_LINES === DRAWN_LINES - 1 || place === count - 1) {
      await print(lines);
      lines = "";
    }
  }
}
