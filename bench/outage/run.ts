import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Kind, Receivers } from "../load-receivers.ts";
import { paced } from "../paced.ts";
import type { Served } from "../throughput/server.ts";

export interface OutagePlan {
  readonly tasks: number;
  readonly ratePerS: number;
  /** Longest wait for callbacks after the last task, in milliseconds. */
  readonly waitMs: number;
}

/** Outcome of the tasks whose receiver answers. */
export interface Outage {
  readonly accepted: number;
  /** Times from the report to the arrival of the callback, in milliseconds, of those that arrived. */
  readonly latenciesMs: readonly number[];
}

interface Sent {
  readonly id: string;
  readonly sentAt: number;
}

const LOOK_EVERY_MS = 100;

/** Sends tasks, every second one to a receiver that never answers, and waits for the callbacks of the others. */
export async function runOutage(server: Served, plan: OutagePlan): Promise<Outage> {
  await using receivers = await Receivers.start();
  const healthy: Sent[] = [];
  await paced(plan.tasks, plan.ratePerS, async (index) => {
    const kind: Kind = index % 2 === 0 ? "hangs" : "healthy";
    const id = randomUUID();
    const sentAt = Date.now();
    const isAccepted = await report(server, id, receivers.url(kind, id));
    if (isAccepted && kind === "healthy") healthy.push({ id, sentAt });
  });
  const arrivedOf = ({ id }: Sent) => receivers.of(id)[0];
  const giveUpAt = Date.now() + plan.waitMs;
  while (Date.now() < giveUpAt && !healthy.every(arrivedOf)) await sleep(LOOK_EVERY_MS);
  return {
    accepted: healthy.length,
    latenciesMs: healthy.flatMap((task) => {
      const arrival = arrivedOf(task);
      return arrival === undefined ? [] : [arrival.at - task.sentAt];
    }),
  };
}

/** Sends the requests of one task. @returns whether the server has accepted all of them. */
async function report({ url, tasks }: Served, id: string, callbackUrl: string): Promise<boolean> {
  for (const { method, path, headers, body } of tasks(id, callbackUrl)) {
    const answer = await fetch(url + path, { method, headers, body });
    await answer.arrayBuffer();
    if (!answer.ok) return false;
  }
  return true;
}
