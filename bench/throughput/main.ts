import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installBullMq, redisVersion } from "./bullmq.ts";
import { chart } from "./chart.ts";
import { checksOf, isKept } from "./checks.ts";
import { machineNow } from "./machine.ts";
import { measurePlace } from "./measure.ts";
import { checkLines, page, tablesOf } from "./page.ts";
import { CONSOLE, fullPlan, type Plan, QUICK, shareMs, turnMs, turnsOf } from "./plan.ts";
import { Receiver } from "./receiver.ts";
import type { PlaceResult } from "./results.ts";
import { startServers } from "./servers.ts";

// Compares the relay with a Worker by hand that keeps the same promises (`promises-worker.ts`), with a bare one, which
// does the minimum for the same callback (`floor-worker.ts`), and with other servers: `npm run bench`, less than 20
// minutes. Writes `RESULTS.md` and `results.svg` beside this folder. Three options shorten the run, which then writes
// no file: `-- --quick` compares the relay with the first of them only, in a minute and a half; `-- --console` compares
// it with a relay without console, in two minutes; `-- --place tmpfs` (`disk`, `dev`) measures the
// servers of one place, in the time that all places otherwise take.

const BENCH = join(import.meta.dirname, "..");
const CHART = "results.svg";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    console: { type: "boolean", default: false },
    place: { type: "string" },
  },
});
const short = values.quick ? QUICK : values.console ? CONSOLE : null;
const plan = short ?? (await wholePlan());
const isWhole = short === null && values.place === undefined;
const machine = isWhole ? machineNow() : null;
const deadline = performance.now() + plan.limitMs;
await using receiver = await Receiver.start();
const results: PlaceResult[] = [];
for (const index of plan.places.keys()) results.push(...(await measured(index)));
const checks = checksOf(results);
console.log(checkLines(checks));
if (!checks.every(isKept)) process.exitCode = 1;
if (machine !== null) {
  writeFileSync(join(BENCH, "RESULTS.md"), page(results, machine, CHART));
  writeFileSync(join(BENCH, CHART), chart(results));
}

/** Measures the servers of one place, for its share of the time that is left. */
async function measured(index: number): Promise<readonly PlaceResult[]> {
  const { places } = plan;
  const [place] = places.slice(index);
  if (place === undefined) return [];
  await using stack = new AsyncDisposableStack();
  const servers = await startServers(place, stack);
  const until = performance.now() + shareMs(places.slice(index), deadline - performance.now());
  let turnsLeft = turnsOf(place);
  const nextMs = () => turnMs(until - performance.now(), turnsLeft--);
  console.log(`## ${place.title}`);
  const result = await measurePlace(place, servers, receiver, nextMs);
  console.log(tablesOf(result));
  return [result];
}

async function wholePlan(): Promise<Plan> {
  const hasRedis = redisVersion() !== null;
  if (hasRedis) await installBullMq();
  else console.log("BullMQ is left out, because redis-server is not installed");
  const whole = fullPlan(hasRedis);
  if (values.place === undefined) return whole;
  return { ...whole, places: whole.places.filter(({ key }) => key === values.place) };
}
