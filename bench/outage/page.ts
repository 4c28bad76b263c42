import { quantile } from "../figures.ts";
import { table, textOf } from "../page.ts";
import type { Machine } from "../throughput/machine.ts";
import type { Outage, OutagePlan } from "./run.ts";

/** Measurements of each server. */
export interface Outages {
  readonly relay: Outage;
  /** Outcome with BullMQ; null when Redis is not installed. */
  readonly bullmq: Outage | null;
}

const README_LINE = /^.*\(bench\/OUTAGE\.md\)$/m;

/** Describes the measured result in one sentence. */
function sentence(outages: Outages, plan: OutagePlan): string {
  const { tasks, ratePerS, waitMs } = plan;
  const { relay, bullmq } = outages;
  const missing = missingOf(relay, plan);
  const total = count(tasks / 2);
  const rest = missing === 0 ? `all ${total} of them` : `${count(missing)} of ${total} missing`;
  const own = `While half of ${ratePerS} tasks per second go to a receiver that never answers, the callbacks of the other half arrive after ${latency(relay, 0.5)} (p50) and ${latency(relay, 0.99)} (p99), ${rest}`;
  if (bullmq === null) return `${own}.`;
  const others = `${count(missingOf(bullmq, plan))} of ${total}`;
  return `${own}; BullMQ with Redis (concurrency 64) lacks ${others}, ${waitMs / 1000} s after the last task.`;
}

/** Returns the README with the measured result in one line, which replaces the line of an earlier run. */
export function readmeWith(readme: string, outages: Outages, plan: OutagePlan): string {
  const line = `**A dead receiver delays no other.** ${sentence(outages, plan)} [All figures](bench/OUTAGE.md)`;
  return readme.replace(README_LINE, () => line);
}

/** Returns the page with the results. */
export function page(outages: Outages, plan: OutagePlan, machine: Machine): string {
  const { relay, bullmq } = outages;
  const rows = [
    row("relay", relay, plan),
    ...(bullmq === null ? [] : [row("BullMQ", bullmq, plan)]),
  ];
  const head = ["server", "accepted", "p50", "p95", "p99", "missing"];
  return textOf({
    title: "One dead receiver",
    command: "bench:outage",
    machine,
    about: `It sends ${plan.ratePerS} tasks per second for ${plan.tasks / plan.ratePerS} s. Every second one names a receiver that takes the request and never answers. The table is about the other half: the time from the report of a task to the arrival of its callback, of those that arrived, and how many callbacks are missing ${plan.waitMs / 1000} s after the last task. Driver, receiver and one server at a time run on one machine, with storage on disk.`,
    parts: [sentence(outages, plan), table(head, rows), SETTINGS, OTHERS],
  });
}

const SETTINGS = `- Relay: plain workerd, one attempt gives up after 10 s.
- BullMQ, where Redis is installed: concurrency 64, one attempt gives up after 10 s, Redis with every write synced (\`appendfsync always\`).`;

/** Figures of servers that `npm run bench:outage` does not start; they were measured once by hand. */
const OTHERS = `## Other servers

Not measured by the command. These three were measured with the load above on 2026-11-21, on two cores, with everything on one disk.

| server | settings | p50 | p99 | missing of 1,200 |
| --- | --- | ---: | ---: | ---: |
| relay | | 10 ms | 53 ms | 0 |
| Svix server 1.99.0 (4fc0cfb) | Postgres, Redis with every write synced, 500 worker tasks, pools of 100 | 10.8 s | | 123 |
| Outpost (f67ae01) | Redis with every write synced, Postgres, RabbitMQ, delivery concurrency 64 | 25.9 s | | 433 |

llmgateway (aa0b20a, with its own worker, PostgreSQL and Redis), measured on 2026-11-22 with 60 callbacks of which every second one hangs: the healthy half arrived after p50 220 s and p95 931 s, 3 of 30 within 120 s and 16 of 30 within 300 s. With the relay and hooks, 30 of 30 arrived within a second. When no hook comes, llmgateway's polling was tighter than the relay's then was; [POLLS.md](POLLS.md) has the present cadence.`;

function row(name: string, outage: Outage, plan: OutagePlan): readonly string[] {
  const latencies = [0.5, 0.95, 0.99].map((q) => latency(outage, q));
  return [name, count(outage.accepted), ...latencies, count(missingOf(outage, plan))];
}

/**
 * Returns the number of tasks with a healthy receiver whose callback has not arrived, whether or not the
 * server accepted them.
 */
function missingOf({ latenciesMs }: Outage, { tasks }: OutagePlan): number {
  return tasks / 2 - latenciesMs.length;
}

/** Returns a quantile of the latencies of the callbacks that have arrived; a dash when none has. */
function latency({ latenciesMs }: Outage, q: number): string {
  if (latenciesMs.length === 0) return "–";
  const ms = quantile(latenciesMs, q);
  return ms < 10_000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function count(number: number): string {
  return number.toLocaleString("en");
}
