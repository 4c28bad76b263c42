import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, expectCode, Fault, resultOf } from "../caller.ts";
import type { RequestedEnding } from "./plan.ts";
import type { TaskHistory } from "./task-history.ts";

/** Time in milliseconds before or after the deadline at which a rival ending is requested. */
const AROUND_DEADLINE_MS = 800;

/** Ends the task as planned: its ending, the rival ending, and repetitions. */
export async function end(history: TaskHistory, deadlineAtMs: number): Promise<void> {
  const { ending, rival, repeats, nth, pausesMs } = history.plan;
  if (ending === null || ending.via === "hook") return;
  if (ending.via === "deadline") {
    if (rival === null) return;
    const offsetMs = (rival.isRace ? (nth % 9) / 4 - 1 : 1) * AROUND_DEADLINE_MS;
    await sleep(Math.max(0, deadlineAtMs + offsetMs - Date.now()));
    return request(history, rival.ending, true);
  }
  const isRace = rival?.isRace === true;
  await Promise.all([
    request(history, ending, isRace),
    isRace ? request(history, rival.ending, true) : null,
  ]);
  if (rival !== null && !isRace) {
    await sleep(pausesMs[1]);
    await requestAfterEnd(history, rival.ending);
  }
  for (let i = 0; i < repeats; i++) await requestAfterEnd(history, ending);
}

/** Posts an event, which creates the task unless it was registered. */
export async function report(
  history: TaskHistory,
  news: object,
  expected: readonly number[],
  repeated: readonly number[] = [],
): Promise<Answer> {
  const { createdBy, accountId: account, credits } = history.plan;
  const creation = { model: "m", account, callback_url: history.callbackUrl };
  const body = { id: history.id, ...(createdBy === "event" && creation), ...news };
  const isBooked = account !== null && credits !== null;
  return history.ask({ method: "POST", path: "/v1/events", body, isBooked }, expected, repeated);
}

/**
 * Reads the task twice. Checks that the task shows the accepted result, and that its version does not fall.
 */
export async function read(history: TaskHistory): Promise<void> {
  const first = await history.askTask("GET", "", [200]);
  const headers = { "If-None-Match": first.headers.get("ETag") ?? "" };
  const again = await history.askTask("GET", "", [200, 304], { headers });
  const [before, after] = [versionOf(first), versionOf(again)];
  if (!(after >= before)) throw new Fault(`version ${after} after ${before}`);
  const result = resultOf(first.json);
  if (result === null || !history.accepted.has(result)) throw new Fault(`read ${first.text}`);
}

/**
 * Requests an ending of the task. @param isContested true when the task may have ended in another way already.
 */
async function request(
  history: TaskHistory,
  ending: RequestedEnding,
  isContested: boolean,
): Promise<void> {
  const isCancel = ending.via === "cancel";
  const expected = [isCancel ? 200 : 202, ...(isContested ? [409] : [])];
  const answer = await send(history, ending, expected, isCancel ? [409] : [200]);
  if (answer.status !== 409) return history.accept(ending.result);
  expectCode(answer, isCancel ? "task_settled" : "conflicting_result");
  // A repeated cancellation is refused because of the first one.
  if (!isCancel || !answer.isRepeat) history.refused.add(ending.result);
}

/**
 * Requests an ending of a task that has ended. Expects no effect when the ending is the same, and a refusal
 * otherwise.
 */
async function requestAfterEnd(history: TaskHistory, ending: RequestedEnding): Promise<void> {
  const isSame = ending.via === "event" && history.accepted.has(ending.result);
  const answer = await send(history, ending, [isSame ? 200 : 409]);
  if (!isSame) expectCode(answer, ending.via === "cancel" ? "task_settled" : "conflicting_result");
}

async function send(
  history: TaskHistory,
  ending: RequestedEnding,
  expected: readonly number[],
  repeated: readonly number[] = [],
): Promise<Answer> {
  if (ending.via === "event") return report(history, ending.report, expected, repeated);
  const isBooked = history.plan.credits !== null;
  return history.askTask("POST", "/cancel", expected, { body: {}, repeated, isBooked });
}

function versionOf({ headers }: Answer): number {
  return Number(/^"(\d+)-/.exec(headers.get("ETag") ?? "")?.[1]);
}
