/** A refused configuration; the message names the key and what it may be. */
export class ConfigurationError extends Error {}

const FOLDER = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** How long to wait before an attempt is made again: an even draw from 0 to a bound that doubles up to `mostMs`. */
export interface RetryWait {
  readonly firstMs: number;
  readonly mostMs: number;
}

export interface Configuration<Address> {
  /** Name of the folder beside the server that holds the operations. */
  readonly workload: string;
  readonly access: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly address: Address;
  readonly poolSize: number;
  readonly maxRetries: number;
  /** Null where it is made again at once. */
  readonly retryWait: RetryWait | null;
}

/** The one line of JSON on standard input, checked key by key; the database's address stands under `system`. */
export function parseConfiguration<Address>(
  line: string,
  system: string,
  parseAddress: (address: unknown) => Address,
): Configuration<Address> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new ConfigurationError("configuration: the first line of standard input is not JSON");
  }
  const keys = ["workload", "access", "listen", system, "pool_size", "max_retries", "retry_wait_ms"];
  const root = object(value, "configuration", keys);
  const listen = object(root["listen"], "listen", ["host", "port"]);
  const workload = text(root["workload"], "workload");
  if (!FOLDER.test(workload)) {
    throw new ConfigurationError(`workload: ${JSON.stringify(workload)} is no name of a workload; allowed: a to z, 0 to 9, -`);
  }
  return {
    workload,
    access: text(root["access"], "access"),
    listen: { host: text(listen["host"], "listen.host"), port: integer(listen["port"], "listen.port", 0, 65535) },
    address: parseAddress(root[system]),
    poolSize: integer(root["pool_size"], "pool_size", 1, 10_000),
    maxRetries: integer(root["max_retries"] ?? 0, "max_retries", 0, 1_000_000),
    retryWait: root["retry_wait_ms"] === undefined ? null : parseRetryWait(root["retry_wait_ms"]),
  };
}

function parseRetryWait(value: unknown): RetryWait {
  const wait = object(value, "retry_wait_ms", ["first", "most"]);
  const firstMs = integer(wait["first"], "retry_wait_ms.first", 1, 60_000);
  return { firstMs, mostMs: integer(wait["most"], "retry_wait_ms.most", firstMs, 60_000) };
}

export function object(value: unknown, key: string, keys: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ConfigurationError(`${key}: must be an object with the keys ${keys.join(", ")}`);
  }
  for (const found of Object.keys(value)) {
    if (!keys.includes(found)) {
      throw new ConfigurationError(`${key}: unknown key "${found}"; allowed: ${keys.join(", ")}`);
    }
  }
  return value as Record<string, unknown>;
}

export function oneOf<Word extends string>(value: unknown, key: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === value);
  if (found === undefined) {
    throw new ConfigurationError(`${key}: ${JSON.stringify(value)} is unknown; allowed: ${words.join(", ")}`);
  }
  return found;
}

export function text(value: unknown, key: string): string {
  if (typeof value !== "string" || value === "") {
    throw new ConfigurationError(`${key}: must be a non-empty string`);
  }
  return value;
}

export function integer(value: unknown, key: string, minimum: number, maximum: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < minimum || value > maximum) {
    throw new ConfigurationError(`${key}: must be an integer from ${minimum} to ${maximum}`);
  }
  return value;
}
