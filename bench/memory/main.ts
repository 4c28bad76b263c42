import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Pool } from "undici";
import * as z from "zod";
import { LOCAL_VARS } from "../../test/process/harness/client.ts";
import { Workerd, type WorkerdOptions } from "../../test/process/harness/workerd.ts";
import { FASTEST_DIRECTORY } from "../figures.ts";
import { MemoryLog } from "../load-memory.ts";
import { paced } from "../paced.ts";
import { Receiver } from "../throughput/receiver.ts";
import type { Ask } from "../throughput/server.ts";
import { eventOnly, plainEvent } from "../throughput/tasks.ts";
import { type Measured, page } from "./page.ts";

// Measures the memory of one workerd under 20,000 tasks, with the relay and with bare Workers beside it, and
// writes bench/MEMORY.md: `npm run bench:memory`, about five minutes. Options: `--tasks`, `--rate` (per second
// and server).

interface Contender {
  readonly name: string;
  readonly options: WorkerdOptions;
  readonly asks: (id: string, url: string) => readonly Ask[];
}

const { values } = parseArgs({
  options: {
    tasks: { type: "string", default: "20000" },
    rate: { type: "string", default: "80" },
  },
});
const Count = z.coerce.number().int().positive();
const [TASKS, RATE] = [Count.parse(values.tasks), Count.parse(values.rate)];
/** Time without requests in milliseconds, longer than the 10 s after which an idle object leaves memory. */
const QUIET_MS = 30_000;
const CONNECTIONS = 32;
const PAGE = join(import.meta.dirname, "../MEMORY.md");

const floor = join(import.meta.dirname, "../throughput/floor-worker.ts");
const noAlarm = join(import.meta.dirname, "no-alarm-worker.ts");
const bare = { vars: {}, parent: FASTEST_DIRECTORY };
const CONTENDERS: readonly Contender[] = [
  { name: "relay", options: { ...bare, vars: LOCAL_VARS }, asks: eventOnly },
  { name: "bare Worker", options: { ...bare, entry: floor }, asks: plainEvent },
  { name: "bare Worker, no alarm", options: { ...bare, entry: noAlarm }, asks: plainEvent },
];

const startedAt = new Date();
await using receiver = await Receiver.start();
const measured = await Promise.all(CONTENDERS.map(measure));
const text = page(measured, { tasks: TASKS, ratePerS: RATE, quietMs: QUIET_MS, startedAt });
console.log(text);
writeFileSync(PAGE, text);

/** Sends all tasks to one server, and samples the memory of its process during the load and after it. */
async function measure({ name, options, asks }: Contender): Promise<Measured> {
  await using server = await Workerd.start(options);
  const pool = new Pool(server.url, { connections: CONNECTIONS });
  let accepted = 0;
  const send = async (): Promise<void> => {
    const id = randomUUID();
    for (const { method, path, headers, body } of asks(id, receiver.expect(id))) {
      const answer = await pool.request({ method, path, headers: { ...headers }, body });
      await answer.body.dump();
      if (answer.statusCode >= 300) return receiver.forget(id);
    }
    accepted++;
  };
  await send();
  accepted = 0;
  using memory = new MemoryLog(server.pid ?? 0, () => accepted);
  await paced(TASKS, RATE, send);
  const samples = [...memory.samples, memory.sample()];
  await pool.close();
  await sleep(QUIET_MS);
  return { name, accepted, samples, quiet: memory.sample() };
}
