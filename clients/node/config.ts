import { EXIT_CONFIGURATION, Failure } from "./failure.ts";
import { Fields } from "./fields.ts";
import { loadProtocol, protocolNames, type Target } from "./protocol.ts";

export const CONTRACT_VERSION = 1;

const WORKLOAD = "transfer";
const INT4_MAX = 2 ** 31 - 1;
const U32_MAX = 2 ** 32 - 1;
const ACCOUNTS_MAX = 2 ** 21;
const CONNECTIONS_MAX = 65_536;
const IN_FLIGHT_MAX = 65_536;
const RETRIES_MAX = 1_000_000;
const DURATION_MIN_S = 0.001;
const DURATION_MAX_S = 86_400;
const RATE_MIN_PER_S = 1e-6;
const RATE_MAX_PER_S = 1e9;
const ALPHA_MAX = 1e3;

const WORKLOAD_KEYS = ["name", "seed", "accounts", "alpha", "amount_max", "redraw", "alias_table", "alias_table_sha256"];
const LOAD_KEYS = [
  "contract",
  "endpoint",
  "workload",
  "connections",
  "first_connection",
  "in_flight",
  "max_retries",
  "loop",
  "warmup_s",
  "window_s",
  "drain_s",
  "request_timeout_s",
  "threads",
];

export type Redraw = "both" | "destination";

export interface Workload {
  readonly seed: number;
  readonly accounts: number;
  readonly amountMax: number;
  /** What is drawn again when source and destination are the same account. */
  readonly redraw: Redraw;
  readonly aliasTable: string;
  readonly aliasTableSha256: string;
}

export interface Config {
  readonly target: Target;
  readonly workload: Workload;
  readonly connections: number;
  readonly firstConnection: number;
  readonly inFlight: number;
  /** null is the closed loop. */
  readonly ratePerS: number | null;
  readonly warmupS: number;
  readonly windowS: number;
  readonly drainS: number;
  readonly requestTimeoutS: number;
}

/** What `--draw` needs; the rest of a configuration may be there and is not looked at. */
export interface DrawConfig {
  readonly workload: Workload;
  readonly connection: number;
  readonly firstIndex: number;
  readonly count: number;
}

export async function parseConfig(json: string): Promise<Config> {
  const root = new Fields(parseJson(json), "", LOAD_KEYS);
  root.integer("contract", CONTRACT_VERSION, CONTRACT_VERSION);
  if (root.has("threads")) root.integer("threads", 1, 1);
  const inFlight = root.integer("in_flight", 1, IN_FLIGHT_MAX);
  return {
    target: await parseTarget(root, inFlight),
    workload: parseWorkload(root),
    connections: root.integer("connections", 1, CONNECTIONS_MAX),
    firstConnection: root.has("first_connection")
      ? root.integer("first_connection", 0, U32_MAX - CONNECTIONS_MAX)
      : 0,
    inFlight,
    ratePerS: parseRate(root.inside("loop", ["kind", "rate_per_s"])),
    warmupS: root.number("warmup_s", 0, DURATION_MAX_S),
    windowS: root.number("window_s", DURATION_MIN_S, DURATION_MAX_S),
    drainS: root.number("drain_s", 0, DURATION_MAX_S),
    requestTimeoutS: root.number("request_timeout_s", DURATION_MIN_S, DURATION_MAX_S),
  };
}

export function parseDrawConfig(json: string): DrawConfig {
  const root = new Fields(parseJson(json), "", [...LOAD_KEYS, "draw"]);
  root.integer("contract", CONTRACT_VERSION, CONTRACT_VERSION);
  const draw = root.inside("draw", ["connection", "first_index", "count"]);
  const firstIndex = draw.integer("first_index", 0, Number.MAX_SAFE_INTEGER);
  return {
    workload: parseWorkload(root),
    connection: draw.integer("connection", 0, U32_MAX),
    firstIndex,
    count: draw.integer("count", 0, Number.MAX_SAFE_INTEGER - firstIndex),
  };
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    const reason = (error as SyntaxError).message;
    throw new Failure(EXIT_CONFIGURATION, `configuration: standard input is not JSON (${reason})`);
  }
}

async function parseTarget(root: Fields, inFlight: number): Promise<Target> {
  const names = protocolNames.map((name) => `"${name}"`).join(", ");
  const name = root.inside("endpoint").text("protocol", names, (value) => protocolNames.includes(value));
  const protocol = await loadProtocol(name);
  return protocol.target(root.inside("endpoint", ["protocol", ...protocol.keys]), {
    inFlight,
    maxRetries: root.has("max_retries") ? root.integer("max_retries", 0, RETRIES_MAX) : 0,
    refused: (key, allowed) => root.refused(key, allowed),
  });
}

function parseWorkload(root: Fields): Workload {
  const workload = root.inside("workload", WORKLOAD_KEYS);
  workload.text("name", `"${WORKLOAD}"`, (value) => value === WORKLOAD);
  workload.number("alpha", 0, ALPHA_MAX);
  return {
    seed: workload.integer("seed", 0, Number.MAX_SAFE_INTEGER),
    accounts: workload.integer("accounts", 2, ACCOUNTS_MAX),
    amountMax: workload.integer("amount_max", 1, INT4_MAX),
    redraw: parseRedraw(workload),
    aliasTable: workload.text("alias_table"),
    aliasTableSha256: workload.text("alias_table_sha256", "64 hexadecimal digits", (value) =>
      /^[0-9a-f]{64}$/.test(value),
    ),
  };
}

function parseRedraw(workload: Fields): Redraw {
  if (!workload.has("redraw")) return "both";
  return workload.text("redraw", '"both" or "destination"', (value) => value === "both" || value === "destination") as Redraw;
}

function parseRate(loop: Fields): number | null {
  const kind = loop.text("kind", '"closed" or "open"', (value) => value === "closed" || value === "open");
  if (kind === "open") return loop.number("rate_per_s", RATE_MIN_PER_S, RATE_MAX_PER_S);
  if (loop.has("rate_per_s")) throw loop.refused("rate_per_s", "no rate in the closed loop");
  return null;
}
