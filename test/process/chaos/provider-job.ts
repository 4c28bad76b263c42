import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "./caller.ts";
import { jobUrl } from "./plan.ts";
import { expectCode, type Story, type World } from "./task-history.ts";
import { field, type UpstreamApi } from "../upstreams/api.ts";
import { APIS } from "../upstreams/apis.ts";

/** One whose hooks are signed, and one that has to be asked. */
const PLAYED = APIS.filter(({ provider }) => provider === "replicate" || provider === "ark");
const REPEAT_AFTER_MS = 250;
const TRIES = 1000;
const MAX_POLL_MS = 600;

/** The upstream that works for the nth task. */
export function apiOf(nth: number): UpstreamApi {
  const api = PLAYED[nth % PLAYED.length];
  if (api === undefined) throw new Error("there are no upstreams");
  return api;
}

export function connectionOf(nth: number): string {
  return `${apiOf(nth).provider}-keyed`;
}

/** Submits the job, attaches it, and has its upstream finish it; the hook may come before the attachment. */
export async function workUpstream(world: World, story: Story, registered: unknown): Promise<void> {
  const { nth, word } = story.plan;
  if (word?.via !== "hook") throw new Error("an upstream tells the end by its hook");
  const api = apiOf(nth);
  const id = api.newId(nth);
  const hookUrl = String(field(registered, "hook_url"));
  const job = { id, taskId: story.id, hookUrl, path: "", url: jobUrl(nth), seed: nth };
  world.upstream.jobs.set(id, { ...job, state: word.state });

  const attach = async () => {
    await sleep(story.plan.pausesMs[0]);
    const body = { provider: connectionOf(nth), id, endpoint: api.attachEndpoint(true) };
    // A signed hook may have ended the task already.
    const answer = await story.askTask("POST", "/upstream", [200, 409], { body });
    if (answer.status === 409) expectCode(answer, "task_settled");
  };
  const tell = async () => {
    if (word.isLost) return;
    await sleep(story.plan.pausesMs[1]);
    // Questions take their time, so that deaths can meet them.
    world.upstream.trouble.set(id, { kind: "hold", until: sleep(MAX_POLL_MS * (nth % 10) * 0.1) });
    await post(world, api, id, word.state);
  };
  await Promise.all([attach(), tell()]);
}

/** As upstreams do: again and again until it is taken. */
async function post(
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
