import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../test/process/harness/child.ts";
import { DISK_DIRECTORY } from "../figures.ts";
import { writeResults } from "../page.ts";
import { installBullMq, redisVersion, startBullMq } from "../throughput/bullmq.ts";
import { machineNow } from "../throughput/machine.ts";
import { startRelay } from "../throughput/plain.ts";
import type { Served } from "../throughput/server.ts";
import { page, readmeWith } from "./page.ts";
import { type Outage, type OutagePlan, runOutage } from "./run.ts";

// Measures how much a receiver that never answers delays the callbacks of others: `npm run bench:outage`, about
// 2 minutes. Writes `OUTAGE.md` beside this folder, and its line in the README.

const PLAN: OutagePlan = { tasks: 2_400, ratePerS: 60, waitMs: 20_000 };

const hasRedis = redisVersion() !== null;
if (hasRedis) await installBullMq();
else console.log("BullMQ is left out, because redis-server is not installed");
const machine = machineNow();
const relay = await measured(startRelay);
const bullmq = hasRedis ? await measured(startBullMq) : null;
const outages = { relay, bullmq };
writeResults("OUTAGE.md", page(outages, PLAN, machine));
const readme = join(ROOT, "README.md");
writeFileSync(readme, readmeWith(readFileSync(readme, "utf8"), outages, PLAN));

async function measured(start: (parent: string) => Promise<Served>): Promise<Outage> {
  await using server = await start(DISK_DIRECTORY);
  return await runOutage(server, PLAN);
}
