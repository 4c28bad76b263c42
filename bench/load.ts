import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import * as z from "zod";
import { type LoadPlan, loadRun } from "./load-run.ts";
import { faultsOf, print } from "./load-report.ts";

// Many tasks through one relay, with receivers that hang and fail, and the same load with healthy ones:
// `node bench/load.ts`, about 25 minutes. `--tasks`, `--rate` (per second), `--schedule` (seconds),
// `--trickle` (per second), `--seed`, `--storage` (a directory; tmpfs where there is one, so that no disk is
// measured), `--sick-only` (no comparison).

const TMPFS = "/dev/shm";

const { values } = parseArgs({
  options: {
    tasks: { type: "string", default: "20000" },
    rate: { type: "string", default: "80" },
    schedule: { type: "string", default: "0,180,600" },
    trickle: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    storage: { type: "string", default: existsSync(TMPFS) ? TMPFS : tmpdir() },
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
  print(each, run);
  const found = run.sent.flatMap((task) => faultsOf(task, each));
  for (const fault of found.slice(0, 20)) console.log(fault);
  console.log(`faults: ${found.length}\n`);
  faults += found.length;
}
if (faults > 0) process.exitCode = 1;
