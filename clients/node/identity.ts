import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import packageFacts from "./package.json" with { type: "json" };

const UNHASHED_FOLDERS = ["node_modules", "test"];

export const description = { name: packageFacts.name, language: "typescript", version: packageFacts.version };

/** Who made a report; the dependencies are in the hash through the lock file. */
export function identity(): object {
  return { ...description, build_id: hashSources(import.meta.dirname) };
}

function hashSources(directory: string): string {
  const hash = createHash("sha256");
  for (const name of sources(directory).sort()) {
    hash.update(`${name}\0`).update(createHash("sha256").update(readFileSync(join(directory, name))).digest());
  }
  return hash.digest("hex");
}

function sources(directory: string, below = ""): string[] {
  return readdirSync(join(directory, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    if (entry.isDirectory()) return UNHASHED_FOLDERS.includes(entry.name) ? [] : sources(directory, path);
    return /\.(ts|json)$/.test(entry.name) ? [path] : [];
  });
}
