/** `done`, or the workload's name for why the operation was refused, as `insufficient`. */
export type Outcome = string;

export const DONE: Outcome = "done";

/** One operation that was read and checked, to be run as often as needed. Throws or rejects on every other end. */
export type Attempt = () => Outcome | Promise<Outcome>;

/** Reads the body of a request; throws a RequestError on bad input. */
export type Request = (body: string) => Attempt;

/** What a server answers: the workload's kinds of operations at one access level. */
export type Requests = Readonly<Record<string, Request>>;

/** The operations of a workload: for each access level what makes them from an open database. */
export type AccessLevels<Database> = Readonly<Record<string, (database: Database) => Requests>>;

/** All input is checked by `parse`, once, and nowhere behind it. */
export function request<Fields>(
  parse: (body: string) => Fields,
  run: (fields: Fields) => Outcome | Promise<Outcome>,
): Request {
  return (body) => {
    const fields = parse(body);
    return () => run(fields);
  };
}
