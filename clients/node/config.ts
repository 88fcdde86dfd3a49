import { EXIT_CONFIGURATION, Failure } from "./failure.ts";
import { Fields } from "./fields.ts";
import { loadProtocol, protocolNames, type Target } from "./protocol.ts";
import { createWorkload, type Workload } from "./workload.ts";

export const CONTRACT_VERSION = 2;

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
  /** When the clock starts, by the wall clock; null is as soon as the connections are up. */
  readonly startUnixS: number | null;
  /** How long after the window connections stay open at least, idle. */
  readonly lingerS: number;
}

/** What `--draw` needs; the rest of a configuration may be there and is not looked at. */
export interface DrawConfig {
  readonly workload: Workload;
  readonly connection: number;
  readonly firstIndex: number;
  readonly count: number;
}

export async function parseConfig(json: string): Promise<Config> {
  const root = parseRoot(json);
  if (root.has("threads") && root.integer("threads") !== 1) throw root.refused("threads", "1 for this client");
  if (root.has("flaws") && root.list("flaws").length > 0) throw root.refused("flaws", "none for this client");
  const workload = await createWorkload(root.inside("workload"));
  return {
    target: await parseTarget(root, workload),
    workload,
    connections: root.integer("connections"),
    firstConnection: root.has("first_connection") ? root.integer("first_connection") : 0,
    inFlight: root.integer("in_flight"),
    ratePerS: parseRate(root.inside("loop")),
    warmupS: root.number("warmup_s"),
    windowS: root.number("window_s"),
    drainS: root.number("drain_s"),
    requestTimeoutS: root.number("request_timeout_s"),
    startUnixS: root.has("start_unix_s") ? root.number("start_unix_s") : null,
    lingerS: root.has("linger_s") ? root.number("linger_s") : 0,
  };
}

export async function parseDrawConfig(json: string): Promise<DrawConfig> {
  const root = parseRoot(json);
  const draw = root.inside("draw");
  return {
    workload: await createWorkload(root.inside("workload")),
    connection: draw.integer("connection"),
    firstIndex: draw.integer("first_index"),
    count: draw.integer("count"),
  };
}

function parseRoot(json: string): Fields {
  const root = new Fields(parseJson(json), "");
  if (root.integer("contract") !== CONTRACT_VERSION) throw root.refused("contract", String(CONTRACT_VERSION));
  return root;
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    const reason = (error as SyntaxError).message;
    throw new Failure(EXIT_CONFIGURATION, `configuration: standard input is not JSON (${reason})`);
  }
}

async function parseTarget(root: Fields, workload: Workload): Promise<Target> {
  const endpoint = root.inside("endpoint");
  const protocol = await loadProtocol(endpoint.choice("protocol", protocolNames));
  return protocol.target(endpoint, {
    workload,
    inFlight: root.integer("in_flight"),
    maxRetries: root.has("max_retries") ? root.integer("max_retries") : 0,
    refused: (key, allowed) => root.refused(key, allowed),
    refusedWorkload: (allowed) => root.inside("workload").refused("name", allowed),
  });
}

function parseRate(loop: Fields): number | null {
  return loop.choice("kind", ["closed", "open"]) === "open" ? loop.number("rate_per_s") : null;
}
