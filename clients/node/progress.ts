import { toSeconds } from "./schedule.ts";

// Progress must not end a trial: a reader that went away is ignored.
process.stderr.on("error", () => {});

export function emit(event: string, values: Record<string, unknown> = {}): void {
  process.stderr.write(`${JSON.stringify({ event, ...values })}\n`);
}

export function emitProgress(phase: string, now: number, acknowledged: number, failed: number): void {
  emit("progress", { phase, elapsed_s: Math.round(toSeconds(now) * 1000) / 1000, acknowledged, failed });
}
