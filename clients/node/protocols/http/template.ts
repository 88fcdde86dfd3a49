import type { FieldValue, Kind } from "../../workload.ts";

/** Writes the text that a template makes of an operation's fields. */
export type Writer = (fields: Readonly<Record<string, FieldValue>>) => string;

const BRACE = "{{";
const FIELD = /\{(\{|[^{}]*\}?)/g;

/** A template: `{field}` stands for the field, `{{` for a brace. */
export class Template {
  /** Literal texts; between two of them stands a field. */
  readonly #texts: string[] = [""];
  readonly #fields: string[] = [];

  constructor(template: string) {
    let at = 0;
    for (const { 0: found, index } of template.matchAll(FIELD)) {
      this.#extend(template.slice(at, index));
      if (found === BRACE) this.#extend("{");
      else this.#addField(found);
      at = index + found.length;
    }
    this.#extend(template.slice(at));
  }

  /** Whether the text is always the same. */
  get isConstant(): boolean {
    return this.#fields.length === 0;
  }

  /** Whether the kind has every field that the template names. */
  hasFieldsOf(kind: Kind): boolean {
    return this.#fields.every((field) => Object.hasOwn(kind, field));
  }

  /** Compiles the template; `write` says how a value is written. */
  writer(write: (value: FieldValue) => string): Writer {
    const [first = "", ...texts] = this.#texts;
    const parts = texts.map((text, place) => [this.#fields[place]!, text] as const);
    return (fields) => {
      let written = first;
      for (const [field, text] of parts) written += write(fields[field]!) + text;
      return written;
    };
  }

  #extend(text: string): void {
    this.#texts[this.#texts.length - 1] += text;
  }

  #addField(found: string): void {
    // One that does not end keeps its brace, and is no field of any kind.
    this.#fields.push(found.endsWith("}") ? found.slice(1, -1) : found);
    this.#texts.push("");
  }
}
