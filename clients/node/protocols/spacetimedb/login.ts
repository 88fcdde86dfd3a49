import { emit } from "../../progress.ts";
import type { ReducerCall } from "./calls.ts";

export interface Login {
  readonly uri: string;
  readonly database: string;
  readonly token: string;
  readonly confirmed: boolean;
  readonly calls: readonly ReducerCall[];
}

/** A call without them is refused before anything runs: a connection can ask untimed whether a reducer is there. */
export const NO_ARGUMENTS = new Uint8Array(0);

/** The SDK passes on what its WebSocket said: an error, or an event that may have no words. */
export function asError(event: unknown): Error {
  if (event instanceof Error) return event;
  const { code, reason, error } = (event ?? {}) as { code?: number; reason?: string; error?: Error };
  const words = [code && `code ${code}`, reason, error?.message].filter(Boolean).join(", ");
  return new Error(`the WebSocket did not open, or closed${words && ` (${words})`}; is the database published?`);
}

/** The SDK writes to the console; standard output is for the report, and its greetings are for nobody. */
export function keepStandardOutput(): void {
  const log = (...words: unknown[]) => {
    const message = String(words[0]);
    if (!message.includes(" INFO%c")) emit("sdk", { message });
  };
  Object.assign(console, { log, info: log, debug: log, warn: log, error: log });
}
