import type { PoolClient } from "pg";
import { DONE } from "../../../shared/node/operation.ts";
import { INSUFFICIENT, sourceAndDestination, type Transfer } from "../../../shared/node/transfer.ts";
import type { TransferOn } from "../operations.ts";

type Row = [id: number, balance: string];

const BEGIN = { name: "begin", text: "BEGIN" };
const COMMIT = { name: "commit", text: "COMMIT" };
const ROLLBACK = { name: "rollback", text: "ROLLBACK" };
const LOCK = {
  name: "lock",
  text: "SELECT id, balance FROM accounts WHERE id IN ($1, $2) ORDER BY id FOR UPDATE",
  rowMode: "array",
} as const;
const SET_BALANCE = { name: "set-balance", text: "UPDATE accounts SET balance = $1 WHERE id = $2" };

/** The transaction of drizzle.ts written by hand: the same five round trips, every statement prepared once. */
export const sqlTransfer: TransferOn = (pool) => {
  return async (transfer) => {
    const client = await pool.connect();
    try {
      await client.query(BEGIN);
      const outcome = await transferWithin(client, transfer);
      await client.query(COMMIT);
      client.release();
      return outcome;
    } catch (error) {
      await client.query(ROLLBACK).then(
        () => client.release(),
        (broken: Error) => client.release(broken),
      );
      throw error;
    }
  };
};

async function transferWithin(client: PoolClient, transfer: Transfer): Promise<string> {
  const { from, to, amount } = transfer;
  const { rows } = await client.query<Row>({ ...LOCK, values: [from, to] });
  const [source, destination] = sourceAndDestination(rows, ([id]) => id, transfer);

  const moved = BigInt(amount);
  const sourceBalance = BigInt(source[1]);
  if (sourceBalance < moved) return INSUFFICIENT;

  await client.query({ ...SET_BALANCE, values: [sourceBalance - moved, from] });
  await client.query({ ...SET_BALANCE, values: [BigInt(destination[1]) + moved, to] });
  return DONE;
}
