/** Exit codes of the client contract. */
export const EXIT_CONFIGURATION = 2;
export const EXIT_ENDPOINT = 3;
export const EXIT_INTEGRITY = 4;

/** Ends the client: its message is the last line on standard error. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** What went wrong; Node's fetch keeps the reason behind its own words. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const words = error.message || error.name;
  return error.cause instanceof Error ? `${words}: ${messageOf(error.cause)}` : words;
}
