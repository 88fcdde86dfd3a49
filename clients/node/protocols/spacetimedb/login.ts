import { emit } from "../../progress.ts";
import type { Outcome } from "../../protocol.ts";
import type { Transfer } from "../../work.ts";

export interface Login {
  readonly uri: string;
  readonly database: string;
  readonly token: string;
  readonly confirmed: boolean;
  readonly reducer: string;
  readonly amount: "u32" | "i64";
}

/** What the reducer refuses, so that a connection can ask untimed whether it is there. */
export const NOTHING: Transfer = { source: 0, destination: 0, amount: 0 };

export function requireRefused({ verdict, text }: Outcome): void {
  if (verdict !== "error") throw new Error(`a transfer of nothing is ${verdict}; publish the module`);
  if (text.includes("no such reducer")) throw new Error(`${text}; publish the module`);
}

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
