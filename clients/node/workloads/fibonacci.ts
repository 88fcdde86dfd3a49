import type { WorkloadDefinition } from "../workload.ts";

/** Number n, where numbers 0 and 1 are themselves. */
function fibonacci(n: number): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < n; step++) [low, high] = [high, low + high];
  return low;
}

export const definition: WorkloadDefinition = {
  kinds: { compute: { n: "u32", value: "u64" } },
  refusals: [],
  createDraw({ parameters }) {
    const n = parameters.has("n") ? parameters.integer("n") : 30;
    const operation = { kind: "compute", fields: { n, value: fibonacci(n) } };
    return () => operation;
  },
};
