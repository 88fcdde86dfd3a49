/** A refused configuration; the message names the key and what it may be. */
export class ConfigurationError extends Error {}

const SYNCHRONOUS = ["FULL", "NORMAL"] as const;
const KEYS = ["workload", "path", "port", "wal", "prepare"];

export type Synchronous = (typeof SYNCHRONOUS)[number];

export interface Configuration {
  readonly workload: string;
  readonly path: string;
  readonly port: number;
  /** False is a rollback journal, which the adapter leaves as it is. */
  readonly wal: false | { readonly synchronous: Synchronous };
  /** Whether tables and users are made. */
  readonly prepare: boolean;
}

/** The one argument, checked key by key. */
export function parseConfiguration(argument: string): Configuration {
  const root = object(parsed(argument), "configuration");
  for (const key of Object.keys(root)) {
    if (!KEYS.includes(key)) throw new ConfigurationError(`configuration: unknown key "${key}"; allowed: ${KEYS.join(", ")}`);
  }
  const { workload, path, port, prepare } = root;
  if (typeof workload !== "string" || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(workload)) {
    throw new ConfigurationError(`workload: ${JSON.stringify(workload)} is no name of a workload; allowed: a to z, 0 to 9, -`);
  }
  if (typeof path !== "string" || path === "") throw new ConfigurationError("path: must be a non-empty string");
  if (typeof port !== "number" || !Number.isInteger(port) || port < 0 || port > 65535) {
    throw new ConfigurationError("port: must be an integer from 0 to 65535");
  }
  if (typeof prepare !== "boolean") throw new ConfigurationError("prepare: must be true or false");
  return { workload, path, port, wal: parseWal(root["wal"]), prepare };
}

function parseWal(value: unknown): Configuration["wal"] {
  if (value === false) return false;
  const synchronous = SYNCHRONOUS.find((word) => word === object(value, "wal")["synchronous"]);
  if (synchronous === undefined) {
    throw new ConfigurationError(`wal.synchronous: must be one of ${SYNCHRONOUS.join(", ")}; or wal: false`);
  }
  return { synchronous };
}

function parsed(argument: string): unknown {
  try {
    return JSON.parse(argument);
  } catch {
    throw new ConfigurationError("configuration: the argument is not JSON");
  }
}

function object(value: unknown, key: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ConfigurationError(`${key}: must be an object`);
  }
  return value as Record<string, unknown>;
}
