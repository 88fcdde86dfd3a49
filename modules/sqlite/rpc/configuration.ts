/** A refused configuration; the message names the key and what it may be. */
export class ConfigurationError extends Error {}

const SYNCHRONOUS = ["OFF", "NORMAL", "FULL"] as const;

export interface Address {
  readonly path: string;
  readonly synchronous: (typeof SYNCHRONOUS)[number];
}

export interface Configuration<Access extends string> {
  readonly access: Access;
  readonly listen: { readonly host: string; readonly port: number };
  readonly sqlite: Address;
}

/** The one line of JSON on standard input, checked key by key. */
export function parseConfiguration<Access extends string>(
  line: string,
  accessLevels: readonly Access[],
): Configuration<Access> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new ConfigurationError("configuration: the first line of standard input is not JSON");
  }
  const root = object(value, "configuration", ["access", "listen", "sqlite", "pool_size", "max_retries"]);
  const listen = object(root["listen"], "listen", ["host", "port"]);
  const sqlite = object(root["sqlite"], "sqlite", ["path", "synchronous"]);
  // Checked as every tier does and then not needed: the file has one writer, and none is refused for another's sake.
  integer(root["pool_size"], "pool_size", 1, 10_000);
  integer(root["max_retries"] ?? 0, "max_retries", 0, 1_000_000);
  return {
    access: oneOf(root["access"], "access", accessLevels),
    listen: { host: text(listen["host"], "listen.host"), port: integer(listen["port"], "listen.port", 0, 65535) },
    sqlite: {
      path: text(sqlite["path"], "sqlite.path"),
      synchronous: oneOf(sqlite["synchronous"], "sqlite.synchronous", SYNCHRONOUS),
    },
  };
}

function object(value: unknown, key: string, keys: readonly string[]): Record<string, unknown> {
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

function oneOf<Word extends string>(value: unknown, key: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === value);
  if (found === undefined) {
    throw new ConfigurationError(`${key}: ${JSON.stringify(value)} is unknown; allowed: ${words.join(", ")}`);
  }
  return found;
}

function text(value: unknown, key: string): string {
  if (typeof value !== "string" || value === "") {
    throw new ConfigurationError(`${key}: must be a non-empty string`);
  }
  return value;
}

function integer(value: unknown, key: string, minimum: number, maximum: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < minimum || value > maximum) {
    throw new ConfigurationError(`${key}: must be an integer from ${minimum} to ${maximum}`);
  }
  return value;
}
