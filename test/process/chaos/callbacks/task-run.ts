import { setTimeout as sleep } from "node:timers/promises";
import { field } from "../../upstreams/apis.ts";
import { Fault } from "../caller.ts";
import { end, read, report } from "./endings.ts";
import { erase, redeliver } from "./orders.ts";
import type { TaskPlan } from "./plan.ts";
import { connectionOf, runJob } from "./provider-job.ts";
import { TaskHistory, type World } from "./task-history.ts";

const DEADLINE_S = 6;

/** Runs one task as planned; an answer that breaks a promise ends the run. */
export async function runTask(world: World, plan: TaskPlan): Promise<TaskHistory> {
  const history = new TaskHistory(plan, world.caller);
  const url = world.receiver.at(plan.path, ...plan.answers);
  history.callbackUrl = { none: null, closed: world.closedUrl, receiver: url }[plan.target];
  try {
    await run(world, history);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    history.faults.push(error.message);
  }
  return history;
}

async function run(world: World, history: TaskHistory): Promise<void> {
  const { plan } = history;
  await sleep(plan.pausesMs[0]);
  await grant(world, plan);
  const deadlineAtS = Math.floor(Date.now() / 1000) + DEADLINE_S;
  if (plan.createdBy !== "event" && !(await register(world, history, deadlineAtS))) return;
  await sleep(plan.pausesMs[1]);
  if (plan.isProcessing) {
    await report(history, { status: "processing" }, [202, 200]);
    history.created();
    await sleep(plan.pausesMs[0]);
  }
  await end(history, deadlineAtS * 1000);
  if (history.accepted.size === 0) return;
  for (let i = 0; i < plan.reads; i++) await read(history);
  if (plan.isErased) await erase(world, history);
  else await redeliver(world, history);
}

async function grant({ caller }: World, plan: TaskPlan): Promise<void> {
  if (plan.grant === 0 || plan.accountId === null) return;
  const path = `/v1/accounts/${plan.accountId}/grants`;
  const body = { reference: plan.path, amount: plan.grant };
  await caller.ask({ method: "POST", path, body }, [201], [200]);
}

/** Registers the task. @returns whether the task exists afterwards. */
async function register(world: World, history: TaskHistory, deadlineAtS: number): Promise<boolean> {
  const { id, isNamedByKey, accountId, credits, createdBy, ending } = history.plan;
  const isUpstream = createdBy === "upstream";
  const mayLackCredits = credits !== null && accountId === "poor";
  const refusals = [mayLackCredits ? [402] : [], ending?.via === "deadline" ? [400] : []].flat();
  const headers: Record<string, string> = isNamedByKey ? { "Idempotency-Key": `order-${id}` } : {};
  const body = registrationOf(history, deadlineAtS);
  const call = { method: "POST", path: "/v1/tasks", body, headers, isBooked: credits !== null };
  const answer = await history.ask(call, [201, ...refusals], [200]);
  if (answer.status === 400 && Date.now() < deadlineAtS * 1000) {
    throw new Fault(`refused before its deadline: ${answer.text}`);
  }
  if (answer.status >= 400) {
    history.state = "refused";
    return false;
  }
  history.created();
  history.id = String(field(answer.json, "id"));
  if (isUpstream) await runJob(world, history, answer.json);
  return true;
}

function registrationOf({ plan, callbackUrl: callback_url }: TaskHistory, deadlineAtS: number) {
  const { id, isNamedByKey, accountId: account, credits, createdBy, ending } = plan;
  return {
    ...(!isNamedByKey && { id }),
    model: "m",
    account,
    credits,
    callback_url,
    ...(createdBy === "upstream" && { provider: connectionOf(plan) }),
    ...(ending?.via === "deadline" && { deadline_at: deadlineAtS }),
  };
}
