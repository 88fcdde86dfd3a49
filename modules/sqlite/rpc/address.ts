import { object, oneOf, text } from "../../shared/node/configuration.ts";

const SYNCHRONOUS = ["OFF", "NORMAL", "FULL", "EXTRA"] as const;

export interface Address {
  readonly path: string;
  readonly synchronous: (typeof SYNCHRONOUS)[number];
}

export function parseAddress(value: unknown): Address {
  const address = object(value, "sqlite", ["path", "synchronous"]);
  return {
    path: text(address["path"], "sqlite.path"),
    synchronous: oneOf(address["synchronous"], "sqlite.synchronous", SYNCHRONOUS),
  };
}
