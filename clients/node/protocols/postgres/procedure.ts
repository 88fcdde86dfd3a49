import pg from "pg";
import { Refused } from "../../refused.ts";
import type { PostgresMode } from "../postgres.ts";

const INVALID_PARAMETER_VALUE = "22023";

/** The transfer as a database function: one round trip, one named prepared statement. */
export function procedureTransfer(name: string): PostgresMode {
  const text = `SELECT ${name}($1::int4, $2::int4, $3::int4)`;
  return async (client) => {
    const call = async (source: number, destination: number, amount: number) => {
      const { rows } = await client.query<[number]>({
        name: "transfer",
        text,
        values: [source, destination, amount],
        rowMode: "array",
      });
      return rows[0]?.[0];
    };
    await prepare(() => call(0, 0, 0));
    return async ({ source, destination, amount }) => {
      const status = await call(source, destination, amount);
      if (status === 1) return "transferred";
      if (status === 0) return "insufficient";
      throw new Refused(`${name} returned ${status}, neither 1 nor 0`);
    };
  };
}

/** A function that refuses a transfer of nothing is there, and its statement is prepared. */
async function prepare(callForNothing: () => Promise<unknown>): Promise<void> {
  try {
    await callForNothing();
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === INVALID_PARAMETER_VALUE)) throw error;
  }
}
