import { isDeepStrictEqual } from "node:util";
import type { Fields } from "../../fields.ts";
import { ACKNOWLEDGED, errorOutcome, type Outcome, refusedAs } from "../../protocol.ts";

const OK = 200;
const RETRIES_MAX = 65_535;
const KEPT_ERROR_CHARACTERS = 500;

type Body = Readonly<Record<string, unknown>>;

/** What an answer looks like that means one outcome. */
interface Pattern {
  readonly outcome: Outcome;
  readonly statuses: readonly unknown[];
  /** The whole body; null where any fits. */
  readonly text: string | null;
  /** Keys that the body has as a JSON object, with these values; null where any body fits. */
  readonly values: readonly (readonly [string, unknown])[] | null;
}

/** Judges the answers to one kind of request, as its declaration says. */
export class Judge {
  /** Refusals before success. */
  readonly #patterns: readonly Pattern[];
  readonly #retries: string | null;
  readonly #readsBodies: boolean;
  /** The last answer that meant success and nothing besides: servers repeat it, and need not be read again. */
  #known: { readonly status: number; readonly body: string } | undefined;

  constructor(request: Fields, refusals: readonly string[]) {
    const patterns = [...refusalsOf(request, refusals), patternOf(request.inside("success"), ACKNOWLEDGED)];
    this.#patterns = patterns;
    this.#retries = request.has("retries") ? request.text("retries") : null;
    this.#readsBodies = this.#retries !== null || patterns.some(({ values }) => values !== null);
  }

  judge(status: number, text: string): Outcome {
    if (this.#known?.status === status && this.#known.body === text) return ACKNOWLEDGED;
    const body = this.#readsBodies ? parse(text) : null;
    const retries = this.#retriesOf(body);
    const fitting = this.#patterns.find((pattern) => fits(pattern, status, text, body));
    if (fitting === undefined || retries === null) {
      return { ...errorOutcome(`status ${status}: ${text.slice(0, KEPT_ERROR_CHARACTERS)}`), retries: retries ?? 0 };
    }
    if (retries > 0) return { ...fitting.outcome, retries };
    if (fitting.outcome === ACKNOWLEDGED) this.#known = { status, body: text };
    return fitting.outcome;
  }

  /** How often the server sent the operation on again; null of what is no such number. */
  #retriesOf(body: Body | null): number | null {
    const retries = (this.#retries === null ? undefined : body?.[this.#retries]) ?? 0;
    return Number.isInteger(retries) && (retries as number) >= 0 && (retries as number) <= RETRIES_MAX
      ? (retries as number)
      : null;
  }
}

function refusalsOf(request: Fields, refusals: readonly string[]): Pattern[] {
  if (!request.has("refusals")) return [];
  const declared = request.inside("refusals");
  return declared.keys.map((name) => {
    if (!refusals.includes(name)) throw declared.refused(name, refusals.join(", ") || "no refusal by name");
    return patternOf(declared.inside(name), refusedAs(name));
  });
}

function patternOf(answer: Fields, outcome: Outcome): Pattern {
  const json = answer.has("json") ? answer.inside("json") : undefined;
  return {
    outcome,
    statuses: answer.has("status") ? answer.list("status") : [OK],
    text: answer.has("text") ? answer.text("text") : null,
    values: json?.entries ?? null,
  };
}

function fits({ statuses, text, values }: Pattern, status: number, given: string, body: Body | null): boolean {
  if (!statuses.includes(status) || (text !== null && text !== given)) return false;
  if (values === null) return true;
  return body !== null && values.every(([key, value]) => Object.hasOwn(body, key) && isDeepStrictEqual(body[key], value));
}

/** The object that a body is; null of any other. */
function parse(text: string): Body | null {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && !Array.isArray(body) ? (body as Body) : null;
  } catch {
    return null;
  }
}
