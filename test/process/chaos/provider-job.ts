import { setTimeout as sleep } from "node:timers/promises";
import { apiOf, field, type UpstreamApi } from "../upstreams/apis.ts";
import { expectCode, Fault } from "./caller.ts";
import { jobUrl, type TaskPlan } from "./plan.ts";
import type { TaskHistory, World } from "./task-history.ts";

const REPEAT_AFTER_MS = 250;
const TRIES = 1000;
const MAX_POLL_MS = 600;

/** Replicate signs its hooks; Ark does not, so that the relay polls or trusts the hook URL. */
function providerOf({ nth }: TaskPlan): UpstreamApi {
  return apiOf(nth % 2 === 0 ? "ark" : "replicate");
}

export function connectionOf(plan: TaskPlan): string {
  return `${providerOf(plan).provider}-${plan.isKeyed ? "keyed" : "plain"}`;
}

/** Creates the job, attaches it and has its upstream finish it; the hook may precede the attachment. */
export async function runJob(
  world: World,
  history: TaskHistory,
  registration: unknown,
): Promise<void> {
  const { plan } = history;
  const { nth, ending, pausesMs } = plan;
  if (ending?.via !== "hook") throw new Error("only a hook ends a provider's task");
  const api = providerOf(plan);
  const id = api.newId(nth);
  const hookUrl = String(field(registration, "hook_url"));
  const job = { id, hookUrl, url: jobUrl(nth), seed: nth, state: ending.state };
  world.upstream.jobs.set(id, job);

  const attach = async () => {
    await sleep(pausesMs[0]);
    const body = { provider: connectionOf(plan), id };
    const answer = await world.underCurrent(() =>
      history.askTask("POST", "/upstream", [200, 409], { body }),
    );
    // A signed hook may have ended the task already.
    if (answer.status === 409) expectCode(answer, "task_settled");
  };
  const sendHook = async () => {
    if (ending.isLost) return;
    await sleep(pausesMs[1]);
    // A slow poll can be interrupted by a kill.
    world.upstream.holds.set(id, sleep(MAX_POLL_MS * (nth % 10) * 0.1));
    await world.underCurrent(() => postHook(world, api, id, ending.state));
  };
  await Promise.all([attach(), sendHook()]);
}

/** Repeats the hook until the relay accepts it. */
async function postHook(
  { upstream, caller }: World,
  api: UpstreamApi,
  id: string,
  state: "completed" | "failed",
): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await upstream.hook(api, id, state).catch(() => null);
    if (answer?.status === 200) return;
    if (answer !== null && answer.status !== 503) {
      throw new Fault(`hook: ${answer.status} ${answer.text}`);
    }
    caller.repeats++;
    await sleep(REPEAT_AFTER_MS);
  }
  throw new Fault("hook: no answer");
}
