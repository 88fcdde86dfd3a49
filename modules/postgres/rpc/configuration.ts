/** A refused configuration; the message names the key and what it may be. */
export class ConfigurationError extends Error {}

export interface Configuration<Access extends string> {
  readonly access: Access;
  readonly listen: { readonly host: string; readonly port: number };
  readonly postgres: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly database: string;
  };
  readonly poolSize: number;
  readonly maxRetries: number;
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
  const root = object(value, "configuration", ["access", "listen", "postgres", "pool_size", "max_retries"]);
  const listen = object(root["listen"], "listen", ["host", "port"]);
  const postgres = object(root["postgres"], "postgres", ["host", "port", "user", "password", "database"]);
  const access = accessLevels.find((level) => level === root["access"]);
  if (access === undefined) {
    const given = JSON.stringify(root["access"]);
    throw new ConfigurationError(`access: ${given} is unknown; allowed: ${accessLevels.join(", ")}`);
  }
  return {
    access,
    listen: { host: text(listen["host"], "listen.host"), port: integer(listen["port"], "listen.port", 0, 65535) },
    postgres: {
      host: text(postgres["host"], "postgres.host"),
      port: integer(postgres["port"], "postgres.port", 1, 65535),
      user: text(postgres["user"], "postgres.user"),
      password: text(postgres["password"], "postgres.password"),
      database: text(postgres["database"], "postgres.database"),
    },
    poolSize: integer(root["pool_size"], "pool_size", 1, 10_000),
    maxRetries: integer(root["max_retries"] ?? 0, "max_retries", 0, 1_000_000),
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
