/** `done`, or the workload's name for why the operation was refused, as `insufficient`. */
export type Outcome = string;

export const DONE: Outcome = "done";

/** An operation that was found impossible before anything was committed, for a reason that the workload does not name. */
export class Refused extends Error {}

/** What makes an operation of each kind; throws or rejects on everything that is neither done nor refused by name. */
export type Operations<Answer> = Readonly<Record<string, (fields: never) => Answer>>;

/**
 * The operations of a workload: for each access level what makes them on an open database. A server runs them, and so
 * does a load client that stands in its place, so that what lies between the two is the server alone. A level is
 * loaded where it is used.
 */
export type Levels<Database, Answer> = Readonly<Record<string, () => Promise<(database: Database) => Operations<Answer>>>>;

/** Reads the body of a request for each kind; throws a RequestError on bad input. */
export type Parsers = Readonly<Record<string, (body: string) => unknown>>;

/** One operation that was read and checked, to be run as often as needed. Throws or rejects on every other end. */
export type Attempt = () => Outcome | Promise<Outcome>;

/** Reads the body of a request; throws a RequestError on bad input. */
export type Request = (body: string) => Attempt;

/** What a server answers: the workload's kinds of operations at one access level. */
export type Requests = Readonly<Record<string, Request>>;

/** All input is checked by the parser of its kind, once, and nowhere behind it. */
export function requestsOf(parsers: Parsers, operations: Operations<Outcome | Promise<Outcome>>): Requests {
  const served = Object.entries(operations).map(([kind, make]) => [kind, request(parsers[kind], make)]);
  return Object.fromEntries(served) as Requests;
}

function request(parse: Parsers[string] | undefined, make: (fields: never) => Outcome | Promise<Outcome>): Request {
  if (parse === undefined) throw new Error("an operation is served whose request nobody reads");
  return (body) => {
    const fields = parse(body) as never;
    return () => make(fields);
  };
}
