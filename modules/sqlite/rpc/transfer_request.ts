import type { Transfer } from "./operations/operation.ts";

const INT4_MAX = 2 ** 31 - 1;
const KEYS = ["from", "to", "amount"];

/** Bad input, in words for the caller. */
export class RequestError extends Error {}

/** The transfer in a request's body. All input is checked here and nowhere behind it. */
export function parseTransfer(body: string): Transfer {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new RequestError("the body is not JSON; send {\"from\":1,\"to\":2,\"amount\":3}");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RequestError("the body is not an object; send {\"from\":1,\"to\":2,\"amount\":3}");
  }
  for (const key of Object.keys(value)) {
    if (!KEYS.includes(key)) throw new RequestError(`${key}: unknown key; allowed: ${KEYS.join(", ")}`);
  }
  const fields = value as Record<string, unknown>;
  const from = integer(fields, "from", 0);
  const to = integer(fields, "to", 0);
  const amount = integer(fields, "amount", 1);
  if (from === to) throw new RequestError(`from and to must be two accounts, not ${from} and ${to}`);
  return { from, to, amount };
}

function integer(fields: Record<string, unknown>, key: string, minimum: number): number {
  const value = fields[key];
  if (typeof value !== "number" || !Number.isInteger(value) || value < minimum || value > INT4_MAX) {
    const given = value === undefined ? "nothing" : JSON.stringify(value);
    throw new RequestError(`${key}: ${given} is not an integer from ${minimum} to ${INT4_MAX}`);
  }
  return value;
}
