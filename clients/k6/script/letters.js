const LETTERS = 26;
const FIRST_LETTER = 97;

/** A text of the letters a to z: steps modulo 2^32, an odd number of them apart. */
export function letters(first, step, count) {
  let text = "";
  let word = first;
  for (let place = 0; place < count; place++) {
    text += String.fromCharCode(FIRST_LETTER + (word % LETTERS));
    word = (word + step) >>> 0;
  }
  return text;
}
