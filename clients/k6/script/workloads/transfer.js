import { philox } from "../philox.js";

const WORDS = 4294967296;
const HEADER_BYTES = 16;
const REDRAWS = 64;
const AMOUNT_BLOCK = 0xffffffff;

/** Which operation is number `index` of a connection: `draw` gives its kind and its fields. */
export function create({ seed, parameters, files }) {
  const { accounts, amount_max: amountMax, redraw = "both" } = parameters;
  const block = new Uint32Array(4);
  const fill = philox(seed, block);
  // Columns of (threshold, alias) after the header, little-endian as every machine that k6 runs on.
  const columns = new Uint32Array(files.alias_table, HEADER_BYTES);
  const pick = (columnDraw, thresholdDraw) => {
    const column = Math.floor((columnDraw * accounts) / WORDS);
    return thresholdDraw < columns[2 * column] ? column : columns[2 * column + 1];
  };
  return (connection, index) => {
    let source = 0;
    let destination = 0;
    for (let draw = 0; draw < REDRAWS; draw++) {
      fill(index, connection, draw);
      if (draw === 0 || redraw === "both") source = pick(block[0], block[1]);
      destination = pick(block[2], block[3]);
      if (source !== destination) break;
    }
    if (source === destination) destination = (source + 1) % accounts;
    fill(index, connection, AMOUNT_BLOCK);
    const amount = 1 + Math.floor((block[0] * amountMax) / WORDS);
    return { kind: "transfer", fields: { from: source, to: destination, amount } };
  };
}
