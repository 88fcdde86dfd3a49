export const INT4_MAX = 2 ** 31 - 1;

/** Bad input, in words for the caller. */
export class RequestError extends Error {}

/** For each field what its value must be; throws a RequestError that names the field. */
export type Checks<Fields extends object> = { readonly [Name in keyof Fields]: (value: unknown, name: string) => Fields[Name] };

/** The fields in a request's body: all that are named, and no other. */
export function parseFields<Fields extends object>(body: string, checks: Checks<Fields>, example: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new RequestError(`the body is not JSON; send ${example}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RequestError(`the body is not an object; send ${example}`);
  }
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(checks, name)) {
      throw new RequestError(`${name}: unknown key; allowed: ${Object.keys(checks).join(", ")}`);
    }
  }
  const given = value as Record<string, unknown>;
  const fields: Partial<Fields> = {};
  for (const name in checks) fields[name] = checks[name](given[name], name);
  return fields as Fields;
}

export function integer(minimum: number, maximum: number): (value: unknown, name: string) => number {
  return (value, name) => {
    if (typeof value !== "number" || !Number.isInteger(value) || value < minimum || value > maximum) {
      throw new RequestError(`${name}: ${told(value)} is not an integer from ${minimum} to ${maximum}`);
    }
    return value;
  };
}

export function text(maximumCharacters: number): (value: unknown, name: string) => string {
  return (value, name) => {
    if (typeof value !== "string" || value === "" || value.length > maximumCharacters) {
      throw new RequestError(`${name}: ${told(value)} is not a text of 1 to ${maximumCharacters} characters`);
    }
    return value;
  };
}

function told(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 100);
}
