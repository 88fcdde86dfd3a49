import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { CollectionConfig, Endpoint, Payload } from "payload";
import { ConfigurationError } from "./configuration.ts";

/** What a workload keeps in Payload: a folder with a collections.ts that exports one as `definition`. */
export interface Definition {
  readonly collections: CollectionConfig[];
  /** Routes of its own, under /api. */
  readonly endpoints?: Endpoint[];
  /** Makes its users, over fresh tables. */
  prepare(payload: Payload): Promise<void>;
}

export async function definitionOf(workload: string): Promise<Definition> {
  const path = `${import.meta.dirname}/${workload}/collections.ts`;
  if (!existsSync(path)) throw new ConfigurationError(`workload: ${workload} is not served here; there is no ${path}`);
  const { definition } = (await import(pathToFileURL(path).href)) as { definition: Definition };
  return definition;
}
