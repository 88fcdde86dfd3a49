import { type Checks, INT4_MAX, integer, parseFields, text } from "./fields.ts";

export interface Post {
  readonly room: number;
  readonly connection: number;
  readonly index: number;
  readonly body: string;
}

export interface Read {
  readonly id: number;
}

/** The sender is no member of the room: the one refusal that the workload names. */
export const FORBIDDEN = "forbidden";

const BODY_MAX_CHARACTERS = 4096;
const POST: Checks<Post> = {
  room: integer(0, Number.MAX_SAFE_INTEGER),
  connection: integer(0, INT4_MAX),
  index: integer(0, Number.MAX_SAFE_INTEGER),
  body: text(BODY_MAX_CHARACTERS),
};
const READ: Checks<Read> = { id: integer(0, Number.MAX_SAFE_INTEGER) };

export function parsePost(body: string): Post {
  return parseFields(body, POST, '{"room":1,"connection":0,"index":1,"body":"letters"}');
}

export function parseRead(body: string): Read {
  return parseFields(body, READ, '{"id":1}');
}

/** How a request for each kind is read. */
export const parsers = { post: parsePost, read: parseRead };
