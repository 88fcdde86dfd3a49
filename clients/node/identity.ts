import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import packageFacts from "./package.json" with { type: "json" };

const PROJECT = join(import.meta.dirname, "../..");
const UNHASHED_FOLDERS = ["node_modules", "test"];

export const description = { name: packageFacts.name, language: "typescript", version: packageFacts.version };

/**
 * Who made a report: a hash over this client and over the folders of the project whose code it ran beside its own.
 * The dependencies are in it through the lock files.
 */
export function identity(borrowed: readonly string[]): object {
  const hash = createHash("sha256");
  for (const folder of ["clients/node", ...borrowed]) {
    const directory = join(PROJECT, folder);
    for (const name of sources(directory).sort()) {
      const digest = createHash("sha256").update(readFileSync(join(directory, name))).digest();
      hash.update(`${folder}/${name}\0`).update(digest);
    }
  }
  return { ...description, build_id: hash.digest("hex") };
}

function sources(directory: string, below = ""): string[] {
  return readdirSync(join(directory, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    if (entry.isDirectory()) return UNHASHED_FOLDERS.includes(entry.name) ? [] : sources(directory, path);
    return /\.(ts|json)$/.test(entry.name) ? [path] : [];
  });
}
