import type { Fields } from "./fields.ts";
import { modulesIn } from "./folder.ts";
import type { WorkloadFile } from "./workload_file.ts";

/** A u64 is below 2^53, so that a double holds it. */
export type FieldType = "u32" | "u64" | "text";
export type FieldValue = number | string;

/** One operation: of a kind of its workload, with a value for each of the kind's fields. */
export interface Operation {
  readonly kind: string;
  readonly fields: Readonly<Record<string, FieldValue>>;
}

/** The fields of a kind of operation, in the order in which a call names them. */
export type Kind = Readonly<Record<string, FieldType>>;

/** What there is to be done, and what a server may say to it. */
export interface Operations {
  readonly kinds: Readonly<Record<string, Kind>>;
  /** Those that are expected have names; every other one is an `error`. */
  readonly refusals: readonly string[];
}

/** What a trial does: operation `index` of a connection is a pure function of seed, connection and index. */
export interface Workload extends Operations {
  readonly name: string;
  draw(connection: number, index: number): Operation;
}

/** What a configuration says of a workload. */
export interface WorkloadSettings {
  readonly seed: number;
  readonly parameters: Fields;
  file(name: string): WorkloadFile;
}

/** A file in `workloads/` exports one as `definition`. */
export interface WorkloadDefinition extends Operations {
  /** Reads parameters and files; throws a Failure that names what is wrong. */
  createDraw(settings: WorkloadSettings): Workload["draw"];
}

export const workloadNames: readonly string[] = modulesIn("workloads");

/** The work that a configuration asks for; throws a Failure for one that this client does not know. */
export async function createWorkload(workload: Fields): Promise<Workload> {
  const name = workload.choice("name", workloadNames);
  const { definition } = (await import(`./workloads/${name}.ts`)) as { definition: WorkloadDefinition };
  const draw = definition.createDraw({
    seed: workload.integer("seed"),
    parameters: workload.inside("parameters"),
    file: (key) => {
      const file = workload.inside("files").inside(key);
      return { path: file.text("path"), sha256: file.text("sha256") };
    },
  });
  return { name, kinds: definition.kinds, refusals: definition.refusals, draw };
}
