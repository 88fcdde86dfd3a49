import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { vector } from "./golden.ts";

export const transfers = vector("transfer", "alpha-0.5");

/** The load of a golden vector on an endpoint: of transfers, unless another is named. */
export function configuration(endpoint: object, changed: object = {}, { workload, connection } = transfers) {
  return {
    contract: 2,
    endpoint,
    workload,
    connections: 3,
    first_connection: connection,
    in_flight: 1,
    loop: { kind: "closed" },
    warmup_s: 0.2,
    window_s: 0.5,
    drain_s: 2,
    request_timeout_s: 2,
    threads: 1,
    ...changed,
  };
}

/** Runs the client as the harness does. */
export async function run(input: object, ...options: string[]) {
  const client = spawn(process.execPath, [join(import.meta.dirname, "../main.ts"), ...options]);
  client.stdin.end(JSON.stringify(input));
  const [output, errors] = await Promise.all([text(client.stdout), text(client.stderr), once(client, "close")]);
  const events = errors
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
  return { code: client.exitCode, output, events };
}

export async function load(input: object) {
  const { code, output, events } = await run(input);
  assert.equal(code, 0, events.at(-1)?.message);
  return { events, report: JSON.parse(output) };
}

/** How many requests a load attempted: on a busy machine a client comes too late for its schedule, but not each time. */
export async function attemptedInTime(input: object, expected: number, within: number): Promise<number> {
  let attempted = NaN;
  for (let tries = 0; tries < 8 && !(Math.abs(attempted - expected) <= within); tries++)
    attempted = (await load(input)).report.attempted;
  return attempted;
}
