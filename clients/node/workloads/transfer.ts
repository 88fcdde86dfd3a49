import { Blocks, TWO_TO_32 } from "../philox.ts";
import type { Operation, WorkloadDefinition } from "../workload.ts";
import { broken, readWorkloadFile, type WorkloadFile } from "../workload_file.ts";

const MAGIC = "GAPALIAS";
const VERSION = 1;
const HEADER_BYTES = 16;
const COLUMN_BYTES = 8;
const REDRAWS = 64;
const AMOUNT_BLOCK = 0xffffffff;

/** The refusal of a transfer whose source has too little. */
export const INSUFFICIENT = "insufficient";

export interface Transfer {
  readonly from: number;
  readonly to: number;
  readonly amount: number;
}

/** The fields of an operation of this workload, whose kind is always a transfer. */
export function transferOf({ fields }: Operation): Transfer {
  return fields as unknown as Transfer;
}

export const definition: WorkloadDefinition = {
  kinds: { transfer: { from: "u32", to: "u32", amount: "u32" } },
  refusals: [INSUFFICIENT],
  createDraw({ seed, parameters, file }) {
    const accounts = parameters.integer("accounts");
    const amountMax = parameters.integer("amount_max");
    const redrawsSource = !parameters.has("redraw") || parameters.choice("redraw", ["both", "destination"]) === "both";
    const transfers = new Transfers(new Blocks(seed), readTable(file("alias_table"), accounts), amountMax, redrawsSource);
    return (connection, index) => transfers.draw(connection, index);
  },
};

/** Vose's alias table over the accounts: what a uniform draw of a column becomes. */
interface AliasTable {
  readonly threshold: Uint32Array;
  readonly alias: Uint32Array;
}

class Transfers {
  readonly #blocks: Blocks;
  readonly #accounts: number;
  readonly #threshold: Uint32Array;
  readonly #alias: Uint32Array;
  readonly #amountMax: number;
  readonly #redrawsSource: boolean;

  constructor(blocks: Blocks, { threshold, alias }: AliasTable, amountMax: number, redrawsSource: boolean) {
    this.#blocks = blocks;
    this.#accounts = alias.length;
    this.#threshold = threshold;
    this.#alias = alias;
    this.#amountMax = amountMax;
    this.#redrawsSource = redrawsSource;
  }

  draw(connection: number, index: number): Operation {
    let from = 0;
    let to = 0;
    // When the accounts are equal, both or the destination alone are drawn again.
    for (let redraw = 0; redraw < REDRAWS && from === to; redraw++) {
      const block = this.#blocks.draw(connection, index, redraw);
      if (redraw === 0 || this.#redrawsSource) from = this.#pick(block[0]!, block[1]!);
      to = this.#pick(block[2]!, block[3]!);
    }
    if (from === to) to = (from + 1) % this.#accounts;
    const amountDraw = this.#blocks.draw(connection, index, AMOUNT_BLOCK)[0]!;
    const amount = 1 + Math.floor((amountDraw * this.#amountMax) / TWO_TO_32);
    return { kind: "transfer", fields: { from, to, amount } };
  }

  #pick(columnDraw: number, thresholdDraw: number): number {
    const column = Math.floor((columnDraw * this.#accounts) / TWO_TO_32);
    return thresholdDraw < this.#threshold[column]! ? column : this.#alias[column]!;
  }
}

function readTable(file: WorkloadFile, accounts: number): AliasTable {
  const bytes = readWorkloadFile(file);
  const wrong = (why: string) => broken(file.path, why);
  if (bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, MAGIC.length) !== MAGIC) {
    throw wrong(`it does not begin with ${MAGIC}`);
  }
  const version = bytes.readUInt32LE(8);
  if (version !== VERSION) throw wrong(`it has version ${version}, not ${VERSION}`);
  const columns = bytes.readUInt32LE(12);
  if (columns !== accounts) throw wrong(`it is for ${columns} accounts, not ${accounts}`);
  if (bytes.length !== HEADER_BYTES + accounts * COLUMN_BYTES) throw wrong(`it has ${bytes.length} bytes`);
  const threshold = new Uint32Array(accounts);
  const alias = new Uint32Array(accounts);
  for (let column = 0; column < accounts; column++) {
    threshold[column] = bytes.readUInt32LE(HEADER_BYTES + column * COLUMN_BYTES);
    alias[column] = bytes.readUInt32LE(HEADER_BYTES + column * COLUMN_BYTES + 4);
    if (alias[column]! >= accounts) throw wrong(`column ${column} leads to account ${alias[column]}`);
  }
  return { threshold, alias };
}
