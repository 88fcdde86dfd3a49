import { readdirSync } from "node:fs";
import { basename, extname, join } from "node:path";

const MODULE = ".ts";

/** The names of the modules in a folder of this client: a file that is put there is known. */
export function modulesIn(folder: string): string[] {
  return readdirSync(join(import.meta.dirname, folder))
    .filter((file) => extname(file) === MODULE)
    .map((file) => basename(file, MODULE))
    .sort();
}
