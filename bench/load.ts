import { parseArgs } from "node:util";
import * as z from "zod";
import { FASTEST_DIRECTORY } from "./figures.ts";
import { type LoadPlan, loadRun } from "./load-run.ts";
import { faultsOf, printReport } from "./load-report.ts";

// Measures one relay under load, with healthy receivers and again with some that hang or fail:
// `node bench/load.ts`, about 25 minutes. Options: `--tasks`, `--rate` (per second), `--schedule` (seconds),
// `--trickle` (per second), `--seed`, `--storage` (a directory; by default tmpfs where there is one, so that
// the disk is not measured), `--sick-only` (skips the run with healthy receivers).

const { values } = parseArgs({
  options: {
    tasks: { type: "string", default: "20000" },
    rate: { type: "string", default: "80" },
    schedule: { type: "string", default: "0,180,600" },
    trickle: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    storage: { type: "string", default: FASTEST_DIRECTORY },
    "sick-only": { type: "boolean", default: false },
  },
});
const Count = z.coerce.number().int().positive();
const SICK_SHARE = 0.1;

const plan: LoadPlan = {
  tasks: Count.parse(values.tasks),
  ratePerS: Count.parse(values.rate),
  scheduleS: values.schedule.split(",").map((text) => z.coerce.number().int().min(0).parse(text)),
  sickShare: SICK_SHARE,
  trickleRatePerS: Count.parse(values.trickle),
  seed: Count.parse(values.seed),
  parent: values.storage,
};

console.log(`seed ${plan.seed}, schedule ${plan.scheduleS.join(",")} s, storage in ${plan.parent}`);
const plans = values["sick-only"] ? [plan] : [{ ...plan, sickShare: 0 }, plan];
let faults = 0;
for (const each of plans) {
  const run = await loadRun(each);
  printReport(each, run);
  const found = run.sent.flatMap((task) => faultsOf(task, each));
  for (const fault of found.slice(0, 20)) console.log(fault);
  console.log(`faults: ${found.length}\n`);
  faults += found.length;
}
if (faults > 0) process.exitCode = 1;
