// Philox4x32-10 (Salmon et al., SC 2011). A 32 x 32 bit product does not fit a double, so its high half is put
// together from 16-bit halves; Math.imul gives the low half.
const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;
const WORDS = 4294967296;

/** A function that writes the four words of the block of (index, connection, draw) into `block`. */
export function philox(seed, block) {
  const seedLow = seed % WORDS | 0;
  const seedHigh = Math.floor(seed / WORDS) | 0;
  return (index, connection, draw) => {
    let c0 = index % WORDS | 0;
    let c1 = Math.floor(index / WORDS) | 0;
    let c2 = connection | 0;
    let c3 = draw | 0;
    let k0 = seedLow;
    let k1 = seedHigh;
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
  };
}

function multiplyHigh(a, b) {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carried = aLow * bHigh + (middle & 0xffff);
  return (aHigh * bHigh + (middle >>> 16) + (carried >>> 16)) | 0;
}
