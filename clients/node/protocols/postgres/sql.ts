import type { Client } from "pg";
import { ACKNOWLEDGED, refusedAs } from "../../protocol.ts";
import { Refused } from "../../refused.ts";
import { INSUFFICIENT, transferOf } from "../../workloads/transfer.ts";
import type { PostgresMode } from "../postgres.ts";

/** Beyond every account that a workload can name. */
const NO_ACCOUNT = 2 ** 31 - 1;

/**
 * The transaction of ./drizzle.ts without the object-relational mapper: the same five round trips, the
 * same order of locks, all statements prepared once for each connection.
 */
export const sqlTransfer: PostgresMode = async (client) => {
  await rollingBack(client, async () => {
    await lock(client, NO_ACCOUNT, NO_ACCOUNT);
    await setBalance(client, NO_ACCOUNT, 0n);
  });
  return async (operation) => {
    const { from, to, amount } = transferOf(operation);
    await run(client, "BEGIN");
    try {
      const rows = await lock(client, from, to);
      const sourceBalance = balanceOf(rows, from);
      const destinationBalance = balanceOf(rows, to);
      const moved = BigInt(amount);
      if (sourceBalance >= moved) {
        await setBalance(client, from, sourceBalance - moved);
        await setBalance(client, to, destinationBalance + moved);
      }
      await commit(client);
      return sourceBalance >= moved ? ACKNOWLEDGED : refusedAs(INSUFFICIENT);
    } catch (error) {
      await run(client, "ROLLBACK");
      throw error;
    }
  };
};

async function lock(client: Client, from: number, to: number): Promise<[number, string][]> {
  const { rows } = await client.query<[number, string]>({
    name: "lock",
    text: "SELECT id, balance FROM accounts WHERE id IN ($1::int4, $2::int4) ORDER BY id FOR UPDATE",
    values: [from, to],
    rowMode: "array",
  });
  return rows;
}

async function setBalance(client: Client, id: number, balance: bigint): Promise<void> {
  await client.query({
    name: "set_balance",
    text: "UPDATE accounts SET balance = $1::int8 WHERE id = $2::int4",
    values: [balance, id],
  });
}

function balanceOf(rows: readonly [number, string][], account: number): bigint {
  const row = rows.find(([id]) => id === account);
  if (row === undefined) throw new Refused(`account ${account} does not exist`);
  return BigInt(row[1]);
}

/** The server answers the COMMIT of a transaction that has failed by rolling it back, which is no error. */
async function commit(client: Client): Promise<void> {
  const command = await run(client, "COMMIT");
  if (command !== "COMMIT") throw new Refused(`COMMIT was answered by ${command}`);
}

async function rollingBack(client: Client, trial: () => Promise<void>): Promise<void> {
  await run(client, "BEGIN");
  try {
    await trial();
  } finally {
    await run(client, "ROLLBACK");
  }
}

/** Runs a statement that has no parameters; returns what the server says that it did. */
async function run(client: Client, statement: string): Promise<string> {
  return (await client.query({ name: statement, text: statement })).command;
}
