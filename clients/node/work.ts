import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { EXIT_CONFIGURATION, EXIT_INTEGRITY, Failure, messageOf } from "./failure.ts";
import type { Workload } from "./config.ts";
import { philox4x32 } from "./philox.ts";

const MAGIC = "GAPALIAS";
const VERSION = 1;
const HEADER_BYTES = 16;
const COLUMN_BYTES = 8;
const REDRAWS = 64;
const AMOUNT_BLOCK = 0xffffffff;
const TWO_TO_32 = 2 ** 32;

export interface Transfer {
  readonly source: number;
  readonly destination: number;
  readonly amount: number;
}

/** Which transfer is operation `index` of a connection: a pure function of seed, connection and index. */
export class Work {
  readonly #accounts: number;
  readonly #amountMax: number;
  readonly #redrawsSource: boolean;
  readonly #key0: number;
  readonly #key1: number;
  readonly #threshold: Uint32Array;
  readonly #alias: Uint32Array;
  readonly #block = new Uint32Array(4);

  /** Reads the alias table; what is read must be what the configuration's hash promises. */
  constructor(workload: Workload) {
    this.#accounts = workload.accounts;
    this.#amountMax = workload.amountMax;
    this.#redrawsSource = workload.redraw === "both";
    this.#key0 = workload.seed % TWO_TO_32;
    this.#key1 = Math.floor(workload.seed / TWO_TO_32);
    const table = readTable(workload);
    this.#threshold = new Uint32Array(workload.accounts);
    this.#alias = new Uint32Array(workload.accounts);
    for (let column = 0; column < workload.accounts; column++) {
      this.#threshold[column] = table.readUInt32LE(HEADER_BYTES + column * COLUMN_BYTES);
      this.#alias[column] = table.readUInt32LE(HEADER_BYTES + column * COLUMN_BYTES + 4);
    }
  }

  draw(connection: number, index: number): Transfer {
    let source = 0;
    let destination = 0;
    // When the accounts are equal, both or the destination alone are drawn again.
    for (let redraw = 0; redraw < REDRAWS && source === destination; redraw++) {
      this.#drawBlock(connection, index, redraw);
      const [r0, r1, r2, r3] = this.#block as unknown as [number, number, number, number];
      if (redraw === 0 || this.#redrawsSource) source = this.#pick(r0, r1);
      destination = this.#pick(r2, r3);
    }
    if (source === destination) destination = (source + 1) % this.#accounts;
    this.#drawBlock(connection, index, AMOUNT_BLOCK);
    const amount = 1 + Math.floor((this.#block[0]! * this.#amountMax) / TWO_TO_32);
    return { source, destination, amount };
  }

  #drawBlock(connection: number, index: number, draw: number): void {
    const indexHigh = Math.floor(index / TWO_TO_32);
    philox4x32(this.#block, index % TWO_TO_32, indexHigh, connection, draw, this.#key0, this.#key1);
  }

  #pick(columnDraw: number, thresholdDraw: number): number {
    const column = Math.floor((columnDraw * this.#accounts) / TWO_TO_32);
    return thresholdDraw < this.#threshold[column]! ? column : this.#alias[column]!;
  }
}

function readTable({ aliasTable, aliasTableSha256, accounts }: Workload): Buffer {
  let table: Buffer;
  try {
    table = readFileSync(aliasTable);
  } catch (error) {
    throw new Failure(
      EXIT_CONFIGURATION,
      `workload.alias_table: ${messageOf(error)}; name a file that the harness wrote`,
    );
  }
  const broken = (why: string) =>
    new Failure(EXIT_INTEGRITY, `alias table ${aliasTable}: ${why}; let the harness write it again`);
  const sha256 = createHash("sha256").update(table).digest("hex");
  if (sha256 !== aliasTableSha256) throw broken(`its sha256 is ${sha256}, not ${aliasTableSha256}`);
  if (table.length < HEADER_BYTES || table.toString("latin1", 0, MAGIC.length) !== MAGIC) {
    throw broken(`it does not begin with ${MAGIC}`);
  }
  const version = table.readUInt32LE(8);
  if (version !== VERSION) throw broken(`it has version ${version}, not ${VERSION}`);
  const columns = table.readUInt32LE(12);
  if (columns !== accounts) throw broken(`it is for ${columns} accounts, not ${accounts}`);
  if (table.length !== HEADER_BYTES + accounts * COLUMN_BYTES) throw broken(`it has ${table.length} bytes`);
  for (let column = 0; column < accounts; column++) {
    const alias = table.readUInt32LE(HEADER_BYTES + column * COLUMN_BYTES + 4);
    if (alias >= accounts) throw broken(`column ${column} leads to account ${alias}`);
  }
  return table;
}
