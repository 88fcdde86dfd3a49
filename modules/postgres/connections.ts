import type { Client, Pool, PoolClient } from "pg";

/** A server's pool, or the one connection of a load client. */
export type Connections = Pool | Client;

/** A connection that is nobody else's until it is released. */
export interface Lease {
  readonly client: Client | PoolClient;
  /** `broken`: the connection is not used again. */
  release(broken?: Error): void;
}

export async function leased(connections: Connections): Promise<Lease> {
  if (!isPool(connections)) return { client: connections, release: () => {} };
  const client = await connections.connect();
  return { client, release: (broken) => client.release(broken) };
}

/** Not by its class: a load client brings a copy of the driver of its own. */
function isPool(connections: Connections): connections is Pool {
  return "totalCount" in connections;
}
