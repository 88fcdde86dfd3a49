import exec from "k6/execution";
import { metricsOf, User } from "./user.js";

const told = JSON.parse(open(__ENV.GAP_CONFIGURATION));
const draw = require(`./workloads/${told.workload.name}.js`).create({
  ...told.workload,
  files: Object.fromEntries(Object.entries(told.workload.files).map(([name, path]) => [name, open(path, "b")])),
});
const user = new User(told, draw, metricsOf(Object.keys(told.requests)));
// Users begin together: the last one of many is started within this time.
const START_DELAY_MS = 250 + told.connections;

export const options = {
  scenarios: {
    load: {
      executor: "constant-vus",
      vus: told.connections,
      duration: `${Math.ceil(START_DELAY_MS + told.scenario_end_ms)}ms`,
      gracefulStop: `${Math.ceil(told.grace_ms)}ms`,
    },
  },
  summaryTrendStats: ["avg", "p(95)", "count"],
};

/** The clock starts when all users are there; the harness is told in its own time. */
export function setup() {
  const startMs = exec.instance.currentTestRunDuration + START_DELAY_MS;
  console.log(`${told.mark}${JSON.stringify({ clock_starts_unix_ms: Date.now() + START_DELAY_MS })}`);
  return { startMs };
}

export default function ({ startMs }) {
  if (user.clock === null) user.begin(startMs);
  user.step();
}

/** k6's own counts, against which those of its users are held. */
export function handleSummary({ metrics: counted }) {
  const values = counted.http_reqs?.values;
  return { [told.summary_path]: JSON.stringify({ http_reqs: values?.count ?? 0 }) };
}
