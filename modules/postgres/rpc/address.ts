import { integer, object, text } from "../../shared/node/configuration.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export function parseAddress(value: unknown): Address {
  const address = object(value, "postgres", ["host", "port", "user", "password", "database"]);
  return {
    host: text(address["host"], "postgres.host"),
    port: integer(address["port"], "postgres.port", 1, 65535),
    user: text(address["user"], "postgres.user"),
    password: text(address["password"], "postgres.password"),
    database: text(address["database"], "postgres.database"),
  };
}
