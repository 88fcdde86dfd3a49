import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { EXIT_CONFIGURATION, EXIT_INTEGRITY, Failure, messageOf } from "./failure.ts";

/** A file that a workload is drawn from, as the harness wrote it. */
export interface WorkloadFile {
  readonly path: string;
  readonly sha256: string;
}

/** Its bytes, which are those that the configuration's hash promises. */
export function readWorkloadFile({ path, sha256: promised }: WorkloadFile): Buffer {
  const bytes = readBytes(path);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  if (sha256 !== promised) throw broken(path, `its sha256 is ${sha256}, not ${promised}`);
  return bytes;
}

export function broken(path: string, why: string): Failure {
  return new Failure(EXIT_INTEGRITY, `workload file ${path}: ${why}; let the harness write it again`);
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Failure(EXIT_CONFIGURATION, `workload.files: ${messageOf(error)}; name a file that the harness wrote`);
  }
}
