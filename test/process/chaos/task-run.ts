import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "./caller.ts";
import { erase, redeliver } from "./orders.ts";
import type { LifePlan } from "./plan.ts";
import { Story, type World } from "./task-history.ts";
import { connectionOf, workUpstream } from "./provider-job.ts";
import { end, read, report } from "./endings.ts";
import { field } from "../upstreams/api.ts";

const DEADLINE_S = 6;

/** Plays a life to its end. */
export async function live(world: World, plan: LifePlan): Promise<Story> {
  const story = new Story(plan, world.caller);
  story.callbackUrl = callbackUrlOf(world, plan);
  try {
    await play(world, story);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    story.faults.push(error.message);
  }
  return story;
}

async function play(world: World, story: Story): Promise<void> {
  const { plan } = story;
  const isEventBorn = plan.birth === "event";
  await sleep(plan.pausesMs[0]);
  await grant(world, plan);
  const deadlineAt = Math.floor(Date.now() / 1000) + DEADLINE_S;
  if (!isEventBorn && !(await register(world, story, deadlineAt))) return;
  await sleep(plan.pausesMs[1]);
  if (plan.isProcessing) await report(story, { status: "processing" }, [202, 200]);
  await end(story, deadlineAt * 1000);
  if (story.accepted.size === 0) return;
  for (let i = 0; i < plan.reads; i++) await read(story);
  if (plan.isErased) await erase(world, story);
  else await redeliver(world, story);
}

function callbackUrlOf({ receiver, deadUrl }: World, plan: LifePlan): string | null {
  const url = receiver.at(plan.path, ...plan.answers);
  if (plan.target === "none") return null;
  return plan.target === "dead" ? deadUrl : url;
}

async function grant({ caller }: World, plan: LifePlan): Promise<void> {
  if (plan.grant === 0 || plan.accountId === null) return;
  const path = `/v1/accounts/${plan.accountId}/grants`;
  const body = { reference: plan.path, amount: plan.grant };
  await caller.insist({ method: "POST", path, body }, [201], [200]);
}

/** Whether there is a task now. @param deadlineAt in Unix seconds, for a task that has one. */
async function register(world: World, story: Story, deadlineAt: number): Promise<boolean> {
  const { id, isNamedByKey, credits, birth, word } = story.plan;
  const hasDeadline = word?.via === "deadline";
  const headers: Record<string, string> = isNamedByKey ? { "Idempotency-Key": `order-${id}` } : {};
  const refusals = [...(credits === null ? [] : [402]), ...(hasDeadline ? [400] : [])];
  const body = registrationOf(story, deadlineAt);
  const call = { method: "POST", path: "/v1/tasks", body, headers, isBooked: credits !== null };
  const answer = await story.ask(call, [201, ...refusals], [200]);
  if (answer.status === 400 && Date.now() < deadlineAt * 1000) {
    throw new Fault(`refused before its deadline: ${answer.text}`);
  }
  story.state = answer.status >= 400 ? "refused" : "created";
  if (story.state === "refused") return false;
  story.id = String(field(answer.json, "id"));
  if (birth === "upstream") await workUpstream(world, story, answer.json);
  return true;
}

function registrationOf({ plan, callbackUrl }: Story, deadlineAt: number): object {
  const { id, nth, isNamedByKey, accountId, credits, birth, word } = plan;
  return {
    ...(!isNamedByKey && { id }),
    model: "m",
    account: accountId,
    credits,
    callback_url: callbackUrl,
    ...(birth === "upstream" && { provider: connectionOf(nth) }),
    ...(word?.via === "deadline" && { deadline_at: deadlineAt }),
  };
}
