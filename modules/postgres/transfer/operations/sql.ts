import { DONE, type Outcome, Refused } from "../../../shared/node/operation.ts";
import { INSUFFICIENT, sourceAndDestination, type Transfer } from "../../../shared/node/transfer.ts";
import { type Lease, leased } from "../../connections.ts";
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
export const sqlTransfer: TransferOn = (connections) => {
  return async (transfer) => {
    const { client, release } = await leased(connections);
    try {
      await client.query(BEGIN);
      const outcome = await transferWithin(client, transfer);
      // A transaction that has failed is rolled back by its COMMIT, and the server calls that no error.
      const { command } = await client.query(COMMIT);
      if (command !== "COMMIT") throw new Refused(`COMMIT was answered by ${command}`);
      release();
      return outcome;
    } catch (error) {
      await client.query(ROLLBACK).then(() => release(), release);
      throw error;
    }
  };
};

async function transferWithin(client: Lease["client"], transfer: Transfer): Promise<Outcome> {
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
