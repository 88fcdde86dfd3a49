import type { Fields } from "../../fields.ts";
import type { FieldValue, Kind, Operation } from "../../workload.ts";
import { Judge } from "./answer.ts";
import { Template, type Writer } from "./template.ts";

const CONTENT_TYPE = "content-type";
const JSON_TYPE = "application/json";

/** What is sent of one operation. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** The request of one kind of operation, compiled from its declaration. */
export class Request {
  readonly judge: Judge;
  readonly #method: string;
  readonly #path: Writer;
  readonly #headers: (fields: Operation["fields"]) => Readonly<Record<string, string>>;
  readonly #body: Writer | null;

  constructor(declared: Fields, kind: Kind, refusals: readonly string[]) {
    const headers = declared.has("headers") ? declared.inside("headers") : undefined;
    this.judge = new Judge(declared, refusals);
    this.#method = declared.text("method");
    this.#path = templateOf(declared, "path", kind).writer(inPath);
    this.#body = declared.has("body") ? templateOf(declared, "body", kind).writer(inJson) : null;
    this.#headers = headersOf(headers, kind, this.#body !== null);
  }

  of({ fields }: Operation): Sent {
    return {
      method: this.#method,
      path: this.#path(fields),
      headers: this.#headers(fields),
      body: this.#body === null ? null : this.#body(fields),
    };
  }
}

const inJson = (value: FieldValue): string => JSON.stringify(value);
const inPath = (value: FieldValue): string => encodeURIComponent(value);
const asItIs = (value: FieldValue): string => String(value);

function templateOf(declared: Fields, key: string, kind: Kind): Template {
  const template = new Template(declared.text(key));
  if (template.hasFieldsOf(kind)) return template;
  const fields = Object.keys(kind).map((field) => `{${field}}`);
  throw declared.refused(key, `the fields ${fields.join(", ")}, and {{ for a brace`);
}

/** The headers of a request; where they are always the same, they are made once. */
function headersOf(headers: Fields | undefined, kind: Kind, hasBody: boolean) {
  const names = headers?.keys ?? [];
  const untyped = !names.some((name) => name.toLowerCase() === CONTENT_TYPE);
  const constant = hasBody && untyped ? { [CONTENT_TYPE]: JSON_TYPE } : {};
  const templates = names.map((name) => [name, templateOf(headers!, name, kind)] as const);
  const writers = templates.map(([name, template]) => [name, template.writer(asItIs)] as const);
  const write = (fields: Operation["fields"]) =>
    Object.assign({ ...constant }, Object.fromEntries(writers.map(([name, writer]) => [name, writer(fields)])));
  if (!templates.every(([, template]) => template.isConstant)) return write;
  const always: Readonly<Record<string, string>> = write({});
  return () => always;
}
