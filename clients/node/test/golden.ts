import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const WORKLOADS = join(import.meta.dirname, "../../../workloads");

/** The operations that every client is held to, and what they are drawn from. */
export interface Vector {
  readonly name: string;
  readonly workload: {
    readonly name: string;
    readonly seed: number;
    readonly parameters: object;
    readonly files: Readonly<Record<string, { readonly path: string; readonly sha256: string }>>;
  };
  readonly connection: number;
  readonly first_index: number;
  /** Kind and fields of each. */
  readonly operations: readonly (readonly [string, ...(number | string)[]])[];
}

const goldenOf = (workload: string): string => join(WORKLOADS, workload, "golden");

/** A vector of a workload, its files where they are. */
export function vector(workload: string, name: string): Vector {
  const golden = goldenOf(workload);
  const { seed, parameters, files, ...rest } = JSON.parse(readFileSync(join(golden, `${name}.json`), "utf8"));
  const located = Object.entries<{ path: string; sha256: string }>(files).map(
    ([key, { path, sha256 }]) => [key, { path: join(golden, path), sha256 }] as const,
  );
  return { ...rest, name, workload: { name: workload, seed, parameters, files: Object.fromEntries(located) } };
}

export function vectors(): Vector[] {
  return readdirSync(WORKLOADS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name: workload }) =>
      readdirSync(goldenOf(workload))
        .filter((file) => file.endsWith(".json"))
        .map((file) => vector(workload, file.slice(0, -".json".length))),
    );
}
