import type { Levels, Outcome } from "../../shared/node/operation.ts";
import type { Transfer } from "../../shared/node/transfer.ts";
import type { Connections } from "../connections.ts";

export { parsers } from "../../shared/node/transfer.ts";

/** Makes the operation of an access level; it rejects on everything that is neither done nor insufficient. */
export type TransferOn = (connections: Connections) => (transfer: Transfer) => Promise<Outcome>;

const level = (load: () => Promise<TransferOn>) => async () => {
  const transferOn = await load();
  return (connections: Connections) => ({ transfer: transferOn(connections) });
};

/** The operation of each access level that procedure.toml declares for this tier. */
export const levels: Levels<Connections, Promise<Outcome>> = {
  drizzle: level(async () => (await import("./operations/drizzle.ts")).drizzleTransfer),
  sql: level(async () => (await import("./operations/sql.ts")).sqlTransfer),
  procedure: level(async () => (await import("./operations/procedure.ts")).procedureTransfer),
};
