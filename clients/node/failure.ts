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

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
