import { type Checks, integer, parseFields } from "./fields.ts";

export interface Compute {
  readonly n: number;
  readonly value: number;
}

const N_MAX = 45;
const COMPUTE: Checks<Compute> = { n: integer(0, N_MAX), value: integer(0, Number.MAX_SAFE_INTEGER) };

export function parseCompute(body: string): Compute {
  return parseFields(body, COMPUTE, '{"n":10,"value":55}');
}

/** How a request for each kind is read. */
export const parsers = { compute: parseCompute };

/** By both numbers before, each computed the same way: the work is the number itself. */
export function fibonacci(n: number): number {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
