import { setTimeout as sleep } from "node:timers/promises";
import { isSettled, Task } from "../../harness/client.ts";
import { type Answer, type Call, type Caller, expectCode, Fault } from "../caller.ts";
import type { Span } from "./endpoint-history.ts";
import type { RedeliveryPlan, TaskPlan } from "./plan.ts";
import type { TaskHistory } from "./recording.ts";

const LOOK_EVERY_MS = 400;

/** Runs a task as planned; an answer that breaks a promise ends the run. */
export async function runTask(
  caller: Caller,
  plan: TaskPlan,
  isClosing: () => boolean,
): Promise<TaskHistory> {
  const history: TaskHistory = { plan, registered: null, ended: null, orders: [], faults: [] };
  try {
    await run(caller, history, isClosing);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    history.faults.push(error.message);
  }
  return history;
}

async function run(caller: Caller, history: TaskHistory, isClosing: () => boolean): Promise<void> {
  const { id, end, isProcessing, credits, orders, pausesMs } = history.plan;
  const [first, second] = pausesMs;
  await register(caller, history);
  if (history.registered?.isRefused === true) return;
  await sleep(first);
  const report = (body: object) => ({ method: "POST", path: "/v1/events", body: { id, ...body } });
  if (isProcessing) await caller.ask(report({ status: "processing" }), [202], [200]);
  await sleep(second);
  const call = { ...report(endOf(end)), isBooked: credits !== null && end === "failed" };
  history.ended = (await timed(caller, call, [202], [200])).span;
  for (const [nth, order] of orders.entries()) {
    if (!(await untilSettled(caller, id, isClosing))) return;
    await redeliver(caller, history, order, nth);
  }
}

/** Registers a task. Only one that names an endpoint may be refused. */
async function register(caller: Caller, history: TaskHistory): Promise<void> {
  const { id, owner: account, endpoint, credits } = history.plan;
  const body = {
    id,
    model: "m",
    ...(account !== null && { account }),
    ...(credits !== null && { credits }),
    ...(endpoint !== null && { callback_url: `endpoint:${endpoint}` }),
  };
  const call = { method: "POST", path: "/v1/tasks", body, isBooked: credits !== null };
  const expected = [201, ...(endpoint === null ? [] : [400])];
  const { answer, span } = await timed(caller, call, expected, [200]);
  const isRefused = answer.status === 400;
  if (isRefused) expectCode(answer, "unknown_endpoint");
  history.registered = { ...span, isRefused };
}

async function redeliver(
  caller: Caller,
  { plan, orders }: TaskHistory,
  { name, attempts }: RedeliveryPlan,
  nth: number,
): Promise<void> {
  const body = { endpoint: name, attempts };
  const headers = { "Idempotency-Key": `redelivery-${nth}` };
  const call = { method: "POST", path: `/v1/tasks/${plan.id}/redeliver`, body, headers };
  const { answer, span } = await timed(caller, call, [202, 400]);
  const isRefused = answer.status === 400;
  if (isRefused) expectCode(answer, "unknown_endpoint");
  orders.push({ name, attempts, isRefused, ...span });
}

/** Reads a task until a redelivery may be ordered. @returns false when the round ends before. */
async function untilSettled(
  caller: Caller,
  id: string,
  isClosing: () => boolean,
): Promise<boolean> {
  while (!isClosing()) {
    const { json } = await caller.ask({ method: "GET", path: `/v1/tasks/${id}` }, [200]);
    const task = Task.parse(json);
    if (task.callback === null || isSettled(task)) return true;
    await sleep(LOOK_EVERY_MS);
  }
  return false;
}

async function timed(
  caller: Caller,
  call: Call,
  expected: readonly number[],
  repeated: readonly number[] = [],
): Promise<{ readonly answer: Answer; readonly span: Span }> {
  const sentAt = Date.now();
  const answer = await caller.ask(call, expected, repeated);
  return { answer, span: { sentAt, answeredAt: Date.now() } };
}

function endOf(end: TaskPlan["end"]): object {
  if (end === "failed") return { status: end, error: { code: "nsfw", message: "refused" } };
  return { status: end, output: { urls: ["https://cdn.example.com/a.mp4"], metadata: {} } };
}
