const LETTERS = 26;
const FIRST_LETTER = 97;

/** A text of the letters a to z, as many as the buffer holds: steps modulo 2^32, an odd number of them apart. */
export function spell(letters: Buffer, first: number, step: number): string {
  let place = first;
  for (let at = 0; at < letters.length; at++) {
    letters[at] = FIRST_LETTER + (place % LETTERS);
    place = (place + step) >>> 0;
  }
  return letters.toString("latin1");
}
