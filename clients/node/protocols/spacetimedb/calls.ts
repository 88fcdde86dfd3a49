import { refusalOutcome, type Outcome } from "../../protocol.ts";
import type { FieldType, Operation, Operations } from "../../workload.ts";

export type ArgumentType = "u32" | "u64" | "i64" | "string";
/** The SDKs take 64 bits as a bigint. */
export type Argument = number | bigint | string;
export type Arguments = Readonly<Record<string, Argument>>;

/** The type of every field named `amount`. */
export type AmountType = "u32" | "i64";

const TYPES: Record<FieldType, ArgumentType> = { u32: "u32", u64: "u64", text: "string" };
const UNKNOWN_REDUCER = "no such reducer";

/** How the operations of one kind are called. */
export class ReducerCall {
  readonly kind: string;
  readonly reducer: string;
  /** By field, in the order of the reducer's parameters. */
  readonly types: Readonly<Record<string, ArgumentType>>;
  readonly #wide: readonly string[];
  readonly #operations: Operations;

  constructor(kind: string, reducer: string, amount: AmountType, operations: Operations) {
    this.kind = kind;
    this.reducer = reducer;
    this.types = Object.fromEntries(
      Object.entries<FieldType>(operations.kinds[kind]!).map(([field, type]) => [field, field === "amount" ? amount : TYPES[type]]),
    );
    this.#operations = operations;
    this.#wide = Object.keys(this.types).filter((field) => ["u64", "i64"].includes(this.types[field]!));
  }

  argumentsOf({ fields }: Operation): Arguments {
    if (this.#wide.length === 0) return fields;
    const converted: Record<string, Argument> = { ...fields };
    for (const field of this.#wide) converted[field] = BigInt(fields[field]!);
    return converted;
  }

  /** What the reducer's own refusal means. */
  refusal(words: string): Outcome {
    return refusalOutcome(this.#operations, words);
  }

  /** Throws unless a call without arguments was refused for want of them. */
  requireServed({ refusal, text }: Outcome): void {
    if (refusal === null) throw new Error(`reducer ${this.reducer} takes no arguments; publish the module`);
    if (text.includes(UNKNOWN_REDUCER)) throw new Error(`reducer ${this.reducer}: ${text}; publish the module`);
  }
}

/** A call for each kind of operation, whose reducer is named by it. */
export function createCalls(
  reducers: Readonly<Record<string, string>>,
  operations: Operations,
  amount: AmountType,
): ReducerCall[] {
  return Object.entries(reducers).map(([kind, reducer]) => new ReducerCall(kind, reducer, amount, operations));
}
