// Philox4x32-10 (Salmon et al., SC 2011). A 32 x 32 bit product does not fit a double, so its high half is put
// together from 16-bit halves; Math.imul gives the low half.
const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;

export const TWO_TO_32 = 2 ** 32;

/** The blocks that a seed's operations are drawn from. */
export class Blocks {
  readonly #key0: number;
  readonly #key1: number;
  readonly #block = new Uint32Array(4);

  constructor(seed: number) {
    this.#key0 = seed % TWO_TO_32;
    this.#key1 = Math.floor(seed / TWO_TO_32);
  }

  /** Block number `draw` of an operation; the next draw overwrites it. */
  draw(connection: number, index: number, draw: number): Uint32Array {
    const indexHigh = Math.floor(index / TWO_TO_32);
    philox4x32(this.#block, index % TWO_TO_32, indexHigh, connection, draw, this.#key0, this.#key1);
    return this.#block;
  }
}

/** Writes the four words of one block into `block`; all arguments are unsigned 32-bit integers. */
export function philox4x32(
  block: Uint32Array,
  counter0: number,
  counter1: number,
  counter2: number,
  counter3: number,
  key0: number,
  key1: number,
): void {
  let c0 = counter0;
  let c1 = counter1;
  let c2 = counter2;
  let c3 = counter3;
  let k0 = key0;
  let k1 = key1;
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(c0, MULTIPLIER_0);
    const low0 = Math.imul(c0, MULTIPLIER_0);
    const high1 = multiplyHigh(c2, MULTIPLIER_1);
    const low1 = Math.imul(c2, MULTIPLIER_1);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + WEYL_0) | 0;
    k1 = (k1 + WEYL_1) | 0;
  }
  block[0] = c0;
  block[1] = c1;
  block[2] = c2;
  block[3] = c3;
}

function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carried = aLow * bHigh + (middle & 0xffff);
  return (aHigh * bHigh + (middle >>> 16) + (carried >>> 16)) | 0;
}
