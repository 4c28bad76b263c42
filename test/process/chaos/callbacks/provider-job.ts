import { setTimeout as sleep } from "node:timers/promises";
import { apiOf, field, type UpstreamApi } from "../../upstreams/apis.ts";
import { expectCode, Fault, isLater } from "../caller.ts";
import { type Hook, jobUrl, type TaskPlan } from "./plan.ts";
import type { TaskHistory, World } from "./task-history.ts";

const REPEAT_AFTER_MS = 250;
const TRIES = 1000;
const MAX_POLL_MS = 600;

/** Chooses Replicate, which signs its hooks, or Ark, which does not. */
function providerOf({ nth }: TaskPlan): UpstreamApi {
  return apiOf(nth % 2 === 0 ? "ark" : "replicate");
}

export function connectionOf(plan: TaskPlan): string {
  return `${providerOf(plan).provider}-${plan.isKeyed ? "keyed" : "plain"}`;
}

/** Creates the job, attaches it and has its upstream finish it; hooks may precede the attachment. */
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
  const job = { id, hookUrl, url: jobUrl(nth), seed: nth };
  world.upstream.jobs.set(id, { ...job, state: "processing" });

  const attach = async () => {
    await sleep(pausesMs[0]);
    const body = { provider: connectionOf(plan), id };
    const answer = await history.askTask("POST", "/upstream", [200, 409], { body });
    // A signed hook may already have ended the task.
    if (answer.status === 409) expectCode(answer, "task_settled");
  };
  const sendHooks = async () => {
    await sleep(pausesMs[1]);
    if (ending.hooks.length === 0) return world.upstream.set(id, ending.state);
    // A kill can interrupt a slow poll.
    world.upstream.holds.set(id, sleep(MAX_POLL_MS * (nth % 10) * 0.1));
    for (const hook of ending.hooks) {
      if (hook === "genuine") world.upstream.set(id, ending.state);
      await postHook(world, { api, id, hook, end: ending.state });
    }
  };
  await Promise.all([attach(), sendHooks()]);
}

interface HookOfJob {
  readonly api: UpstreamApi;
  readonly id: string;
  readonly hook: Hook;
  readonly end: "completed" | "failed";
}

/** Repeats the hook until the relay accepts it, or refuses it because it is forged. */
async function postHook(
  { upstream, caller }: World,
  { api, id, hook, end }: HookOfJob,
): Promise<void> {
  const other = end === "completed" ? "failed" : "completed";
  const states = { genuine: end, repeated: end, progress: "processing" } as const;
  const state = hook === "forged" || hook === "contradicting" ? other : states[hook];
  const signature = hook === "forged" ? {} : undefined;
  const expected = hook === "forged" && api.sign !== undefined ? 401 : 200;
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await upstream.hook(api, id, state, signature).catch(() => null);
    if (answer?.status === expected) return;
    if (answer !== null && !isLater(answer)) {
      throw new Fault(`${hook} hook: ${answer.status} ${answer.text}`);
    }
    caller.repeats++;
    await sleep(REPEAT_AFTER_MS);
  }
  throw new Fault("hook: no answer");
}
