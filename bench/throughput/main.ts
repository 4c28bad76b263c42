import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { FASTEST_DIRECTORY } from "../figures.ts";
import { checksOf } from "./checks.ts";
import { measurePlace, type Servers } from "./measure.ts";
import { checkLine, summary } from "./page.ts";
import { startChargingRelay, startFloor, startRegisteringRelay, startRelay } from "./plain.ts";
import { type ContenderKey, FULL, type Place, QUICK, roundMs } from "./plan.ts";
import { Receiver } from "./receiver.ts";
import type { PlaceResult } from "./results.ts";
import type { Served } from "./round.ts";

// Compares the relay with the least that a Worker and an object must do for the same callback: `npm run bench`,
// less than 8 minutes. `--quick` compares only the two, on tmpfs, in less than a minute.

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const plan = values.quick ? QUICK : FULL;
const deadline = performance.now() + plan.limitMs;

const STARTS: Readonly<Record<ContenderKey, (parent: string) => Promise<Served>>> = {
  floor: startFloor,
  event: startRelay,
  registered: startRegisteringRelay,
  credits: startChargingRelay,
};

await using receiver = await Receiver.start();
const results: PlaceResult[] = [];
for (const [index, place] of plan.places.entries()) {
  await using stack = new AsyncDisposableStack();
  const servers = await startAll(place, stack);
  const left = plan.places.slice(index);
  const forMs = roundMs(left, plan.rounds, deadline - performance.now());
  console.log(`${place.title}: ${plan.rounds} rounds of ${(forMs / 1000).toFixed(1)} s`);
  const result = await measurePlace(place, servers, receiver, { rounds: plan.rounds, forMs });
  console.log(summary(result));
  results.push(result);
}
for (const check of checksOf(results)) console.log(checkLine(check));

async function startAll(place: Place, stack: AsyncDisposableStack): Promise<Servers> {
  const parent = place.key === "disk" ? tmpdir() : FASTEST_DIRECTORY;
  const started = place.contenders.map(async (contender) => {
    const server = stack.use(await STARTS[contender](parent));
    return [contender, server] as const;
  });
  return new Map(await Promise.all(started));
}
