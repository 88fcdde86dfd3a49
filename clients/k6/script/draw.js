const told = JSON.parse(open(__ENV.GAP_CONFIGURATION));
const draw = require(`./workloads/${told.workload.name}.js`).create({
  ...told.workload,
  files: Object.fromEntries(Object.entries(told.workload.files).map(([name, path]) => [name, open(path, "b")])),
});
const LINES_AT_A_TIME = 1000;

export const options = { vus: 1, iterations: 1 };

/** Prints the operations that were asked for, in the order of their fields. */
export default function () {
  const { connection, first_index: first, count } = told.draw;
  let lines = [];
  for (let index = first; index < first + count; index++) {
    const { kind, fields } = draw(connection, index);
    lines.push(`${told.mark}${[index, kind, ...told.fields[kind].map((name) => fields[name])].join(" ")}`);
    if (lines.length === LINES_AT_A_TIME || index === first + count - 1) {
      console.log(lines.join("\n"));
      lines = [];
    }
  }
}

export function handleSummary() {
  return {};
}
