/** Which operation is number `index` of a connection: `draw` gives its kind and its fields. */
export function create({ parameters: { n } }) {
  let [low, high] = [0, 1];
  for (let step = 0; step < n; step++) [low, high] = [high, low + high];
  const operation = { kind: "compute", fields: { n, value: low } };
  return () => operation;
}
