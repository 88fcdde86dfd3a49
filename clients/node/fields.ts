import { EXIT_CONFIGURATION, Failure } from "./failure.ts";

/**
 * A JSON object decoded key by key; what is not of the type asked for is refused with the key's whole name. Ranges and
 * unknown keys are the schema's (clients/contract.schema.json), which the harness has held the configuration to.
 */
export class Fields {
  readonly #values: Record<string, unknown>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    this.#path = path;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new Failure(EXIT_CONFIGURATION, `${path || "configuration"}: must be an object`);
    }
    this.#values = value as Record<string, unknown>;
  }

  get keys(): string[] {
    return Object.keys(this.#values);
  }

  get entries(): [string, unknown][] {
    return Object.entries(this.#values);
  }

  has(key: string): boolean {
    return this.#values[key] !== undefined;
  }

  /** An object inside this one. */
  inside(key: string): Fields {
    return new Fields(this.#values[key], this.#name(key));
  }

  integer(key: string): number {
    const value = this.#values[key];
    if (!Number.isSafeInteger(value)) throw this.refused(key, "an integer");
    return value as number;
  }

  number(key: string): number {
    const value = this.#values[key];
    if (typeof value !== "number") throw this.refused(key, "a number");
    return value;
  }

  flag(key: string): boolean {
    const value = this.#values[key];
    if (typeof value !== "boolean") throw this.refused(key, "true, false");
    return value;
  }

  text(key: string): string {
    const value = this.#values[key];
    if (typeof value !== "string") throw this.refused(key, "a string");
    return value;
  }

  list(key: string): readonly unknown[] {
    const value = this.#values[key];
    if (!Array.isArray(value)) throw this.refused(key, "a list");
    return value;
  }

  /** One of the words that this client knows. */
  choice<Word extends string>(key: string, words: readonly Word[]): Word {
    const chosen = words.find((word) => word === this.#values[key]);
    if (chosen === undefined) throw this.refused(key, words.map((word) => `"${word}"`).join(", "));
    return chosen;
  }

  refused(key: string, allowed: string): Failure {
    const given = this.has(key) ? `${JSON.stringify(this.#values[key])} is refused` : "missing";
    return new Failure(EXIT_CONFIGURATION, `${this.#name(key)}: ${given}; allowed: ${allowed}`);
  }

  #name(key: string): string {
    return this.#path === "" ? key : `${this.#path}.${key}`;
  }
}
