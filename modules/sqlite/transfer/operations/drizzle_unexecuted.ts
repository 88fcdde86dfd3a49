import { drizzleOperation } from "./drizzle.ts";

/**
 * A published defect, kept to be shown: both updates are built and never run, so that the transaction commits
 * nothing and the answer is ok all the same. procedure.toml names the source.
 */
export const drizzleUnexecutedTransfer = drizzleOperation(() => {});
