// Prints what tasks cost on the relay, and what the same job costs with other services. Used as `npm run cost
// -- --tasks 10M --polls 6`.
import { parseArgs } from "node:util";
import { DEFAULTS, orderOf, USAGE } from "./cost/options.ts";
import { report } from "./cost/report.ts";

try {
  const { values } = parseArgs({
    options: {
      tasks: { type: "string", default: DEFAULTS.tasks },
      "retry-rate": { type: "string", default: DEFAULTS["retry-rate"] },
      "receiver-ms": { type: "string", default: DEFAULTS["receiver-ms"] },
      polls: { type: "string", default: DEFAULTS.polls },
      queue: { type: "boolean", default: false },
    },
  });
  console.log(report(orderOf(values, values.queue)));
} catch (error) {
  // Both the names of the options and their values may be wrong; each error names the option.
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exitCode = 2;
}
