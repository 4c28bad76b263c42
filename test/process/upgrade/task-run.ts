import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../harness/client.ts";
import { attach, type Submitted, submitted } from "../upstreams/submission.ts";
import type { PatientOperator, UpgradedTask } from "./operator.ts";
import type { Periods } from "./periods.ts";
import type { UpgradeLife } from "./plan.ts";
import type { Upstream } from "../upstreams/fake-upstream.ts";
import { APIS } from "../upstreams/apis.ts";

const REPEAT_AFTER_MS = 200;

export interface Surroundings {
  readonly client: Client;
  readonly operator: PatientOperator;
  readonly upstream: Upstream;
  readonly periods: Periods;
}

export interface Lived {
  readonly life: UpgradeLife;
  /** When the relay said that it has the task, and its end; null: nobody told it of one. */
  readonly bornAt: number;
  readonly endedAt: number | null;
  /** The task as the refusal of the opposite result showed it; null: none was reported. */
  readonly contradicted: UpgradedTask | null;
}

/** Lets all that is planned for a task happen to it. */
export async function live(life: UpgradeLife, around: Surroundings): Promise<Lived> {
  const { operator, periods } = around;
  await periods.moment(life.bornIn);
  const job = life.birth === "provider" ? await submit(life, around) : null;
  const deadlineAt = life.birth === "registration" ? await operator.register(life) : null;
  let bornAt = Date.now();
  if (life.processingIn !== null) {
    await periods.moment(life.processingIn);
    await operator.report(life, "processing");
    if (life.birth === "event") bornAt = Date.now();
  }
  await periods.moment(life.endsIn);
  await end(life, job, deadlineAt, around);
  const endedAt = isTold(life) ? Date.now() : null;
  if (isTold(life)) await periods.moment(life.contradictedIn);
  const contradicted = isTold(life) ? await operator.contradict(life) : null;
  if (isRedelivered(life)) await operator.redeliver(life);
  return { life, bornAt, endedAt, contradicted };
}

/** Whether the client asks for its callback once more. */
export function isRedelivered({ isRedelivered: isPlanned, end: ending, callbackUrl }: UpgradeLife) {
  return isPlanned && ending !== "open" && callbackUrl !== null;
}

function isTold({ end: ending }: UpgradeLife): boolean {
  return ending !== "open" && ending !== "upstream_timeout";
}

async function end(
  life: UpgradeLife,
  job: Submitted | null,
  deadlineAt: number | null,
  around: Surroundings,
): Promise<void> {
  switch (life.end) {
    case "completed":
    case "failed":
      if (life.isHooked && job !== null) await hook(job, around);
      else await around.operator.report(life, life.end);
      return;
    case "canceled":
      return around.operator.cancel(life);
    case "upstream_timeout":
      await sleep(Math.max(0, (deadlineAt ?? 0) - Date.now()));
      return;
    case "open":
      return;
  }
}

/** With a connection that has no key, so that its hooks alone can tell the end. */
function submit(life: UpgradeLife, { client, upstream, periods }: Surroundings) {
  const { id, accountId: account, callbackUrl } = life;
  const api = APIS[Number(id.slice(-3)) % APIS.length];
  if (api === undefined) throw new Error("there are no providers");
  const fields = { account, callback_url: callbackUrl };
  const options = { client, upstream, api, isKeyed: false, id, callbackUrl: "", fields };
  return periods.underCurrent(async () => {
    const task = await submitted(options);
    await attach(client, task);
    return task;
  });
}

/** As a provider does it: again while the relay cannot take it, e.g. until the provider's keys are there. */
async function hook(job: Submitted, { upstream, periods }: Surroundings): Promise<void> {
  upstream.set(job.jobId, "completed");
  const send = () => periods.underCurrent(() => upstream.hook(job.api, job.jobId, "completed"));
  let answer = await send();
  while (answer?.status === 503) {
    await sleep(REPEAT_AFTER_MS);
    answer = await send();
  }
  if (answer?.status !== 200) throw new Error(`the hook was answered with ${answer?.status}`);
}
