import { type Checks, INT4_MAX, integer, parseFields, text } from "./fields.ts";

export interface Increment {
  readonly counter: number;
  readonly amount: number;
}

export interface Message {
  readonly connection: number;
  readonly index: number;
  readonly body: string;
}

const BODY_MAX_CHARACTERS = 4096;
const INCREMENT: Checks<Increment> = { counter: integer(0, INT4_MAX), amount: integer(1, INT4_MAX) };
const MESSAGE: Checks<Message> = {
  connection: integer(0, INT4_MAX),
  index: integer(0, Number.MAX_SAFE_INTEGER),
  body: text(BODY_MAX_CHARACTERS),
};

export function parseIncrement(body: string): Increment {
  return parseFields(body, INCREMENT, '{"counter":0,"amount":1}');
}

export function parseMessage(body: string): Message {
  return parseFields(body, MESSAGE, '{"connection":0,"index":1,"body":"letters"}');
}

/** How a request for each kind is read. */
export const parsers = { increment: parseIncrement, message: parseMessage };
