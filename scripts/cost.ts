// Prints what tasks cost on the relay, and what the same job costs with other services. Used as `npm run cost
// -- --tasks 10M --polls 6`.
import { parseArgs } from "node:util";
import { DEFAULTS, orderOf, USAGE } from "./cost/options.ts";
import { report } from "./cost/report.ts";

const takesText = (fallback: string) => ({ type: "string", default: fallback }) as const;
const isSwitch = { type: "boolean", default: false } as const;

try {
  const { values } = parseArgs({
    options: {
      tasks: takesText(DEFAULTS.tasks),
      "retry-rate": takesText(DEFAULTS["retry-rate"]),
      "receiver-ms": takesText(DEFAULTS["receiver-ms"]),
      life: takesText(DEFAULTS.life),
      polls: takesText(DEFAULTS.polls),
      "poll-lateness": takesText(DEFAULTS["poll-lateness"]),
      "job-s": takesText(DEFAULTS["job-s"]),
      watchers: takesText(DEFAULTS.watchers),
      outputs: takesText(DEFAULTS.outputs),
      "output-mb": takesText(DEFAULTS["output-mb"]),
      "output-days": takesText(DEFAULTS["output-days"]),
      "output-reads": takesText(DEFAULTS["output-reads"]),
      "copy-mb-s": takesText(DEFAULTS["copy-mb-s"]),
      chunked: isSwitch,
      account: isSwitch,
      price: takesText(DEFAULTS.price),
      queue: isSwitch,
      help: isSwitch,
    },
  });
  console.log(values.help ? USAGE : report(orderOf(values, values)));
} catch (error) {
  // Both the names of the options and their values may be wrong; each error names the option.
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exitCode = 2;
}
