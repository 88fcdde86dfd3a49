import { EXIT_CONFIGURATION, Failure } from "./failure.ts";

/** A JSON object read key by key; whatever is wrong is refused with the key's whole name. */
export class Fields {
  readonly #values: Record<string, unknown>;
  readonly #path: string;

  /** Without `keys` any key may be there. */
  constructor(value: unknown, path: string, keys?: readonly string[]) {
    this.#path = path;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      const having = keys === undefined ? "" : ` with ${keys.join(", ")}`;
      throw new Failure(EXIT_CONFIGURATION, `${path || "configuration"}: must be an object${having}`);
    }
    this.#values = value as Record<string, unknown>;
    if (keys === undefined) return;
    for (const key of Object.keys(value)) {
      if (!keys.includes(key)) {
        throw new Failure(EXIT_CONFIGURATION, `${this.#name(key)}: unknown key; allowed: ${keys.join(", ")}`);
      }
    }
  }

  /** An object inside this one. */
  inside(key: string, keys?: readonly string[]): Fields {
    return new Fields(this.#values[key], this.#name(key), keys);
  }

  has(key: string): boolean {
    return this.#values[key] !== undefined;
  }

  integer(key: string, minimum: number, maximum: number): number {
    const value = this.#values[key];
    if (!Number.isInteger(value) || !within(value as number, minimum, maximum)) {
      throw this.refused(key, `an integer from ${minimum} to ${maximum}`);
    }
    return value as number;
  }

  number(key: string, minimum: number, maximum: number): number {
    const value = this.#values[key];
    if (typeof value !== "number" || !within(value, minimum, maximum)) {
      throw this.refused(key, `a number from ${minimum} to ${maximum}`);
    }
    return value;
  }

  flag(key: string): boolean {
    const value = this.#values[key];
    if (typeof value !== "boolean") throw this.refused(key, "true, false");
    return value;
  }

  text(key: string, allowed = "a non-empty string", accepts = (value: string) => value !== ""): string {
    const value = this.#values[key];
    if (typeof value !== "string" || !accepts(value)) throw this.refused(key, allowed);
    return value;
  }

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

function within(value: number, minimum: number, maximum: number): boolean {
  return value >= minimum && value <= maximum;
}
