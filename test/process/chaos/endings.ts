import { setTimeout as sleep } from "node:timers/promises";
import { Fault, resultOf } from "./caller.ts";
import type { Rival, Word } from "./plan.ts";
import { expectCode, type Story } from "./task-history.ts";

/** How far from the deadline somebody may come: too late, or just in time. */
const AROUND_MS = 800;

type Said = Rival["word"];

/** The task ends as its plan has it: by its word, against its rival, and the same again. */
export async function end(story: Story, deadlineAtMs: number): Promise<void> {
  const { word, rival, repeats, nth } = story.plan;
  if (word === null || word.via === "hook") return;
  if (word.via === "deadline") {
    if (rival === null) return;
    const offsetMs = rival.isRace ? ((nth % 9) / 4 - 1) * AROUND_MS : AROUND_MS;
    await sleep(Math.max(0, deadlineAtMs + offsetMs - Date.now()));
    await say(story, rival.word, true);
    return;
  }
  if (rival === null) await say(story, word, false);
  else if (rival.isRace) await Promise.all([say(story, word, true), say(story, rival.word, true)]);
  else {
    await say(story, word, false);
    await sayAgain(story, rival.word);
  }
  for (let i = 0; i < repeats; i++) await sayAgain(story, word);
}

/** @param isContested whether the task may have ended otherwise already. */
async function say(
  story: Story,
  word: Said | Extract<Word, { via: "cancel" | "event" }>,
  isContested: boolean,
) {
  const isCancel = word.via === "cancel";
  const fresh = [isCancel ? 200 : 202, ...(isContested ? [409] : [])];
  const answer = await send(story, word, fresh, isCancel ? [409] : [200]);
  if (answer.status !== 409) {
    story.accepted.add(word.result);
    if (story.state === "unknown") story.state = "created";
    return;
  }
  expectCode(answer, isCancel ? "task_settled" : "conflicting_result");
  // A cancellation that is repeated is refused by itself.
  if (!isCancel || !answer.isRepeat) story.refused.add(word.result);
}

/** A word after the end: harmless when it says the same, refused when it does not. */
async function sayAgain(story: Story, word: Said): Promise<void> {
  const isSame = word.via === "event" && story.accepted.has(word.result);
  const answer = await send(story, word, [isSame ? 200 : 409]);
  if (!isSame) expectCode(answer, word.via === "cancel" ? "task_settled" : "conflicting_result");
}

async function send(
  story: Story,
  word: Said,
  expected: readonly number[],
  repeated: readonly number[] = [],
) {
  if (word.via === "cancel") {
    return story.askTask("POST", "/cancel", expected, {
      body: {},
      repeated,
      isBooked: story.plan.credits !== null,
    });
  }
  return report(story, word.report, expected, repeated);
}

/** Posts an event; one for a task that was not registered creates it. */
export async function report(
  story: Story,
  news: object,
  expected: readonly number[],
  repeated: readonly number[] = [],
) {
  const { birth, accountId } = story.plan;
  const creation = { model: "m", account: accountId, callback_url: story.callbackUrl };
  const body = { id: story.id, ...(birth === "event" && creation), ...news };
  const isBooked = accountId !== null && story.plan.credits !== null;
  return story.ask({ method: "POST", path: "/v1/events", body, isBooked }, expected, repeated);
}

/** Reads twice: what was accepted is there, and its version never falls. */
export async function read(story: Story): Promise<void> {
  const first = await story.askTask("GET", "", [200]);
  const tag = first.headers.get("ETag") ?? "";
  const headers = { "If-None-Match": tag };
  const again = await story.askTask("GET", "", [200, 304], { headers });
  const [before, after] = [versionOf(first.headers), versionOf(again.headers)];
  if (!(after >= before)) throw new Fault(`version ${after} after ${before}`);
  const result = resultOf(first.json);
  if (result === null || !story.accepted.has(result)) throw new Fault(`read ${first.text}`);
}

function versionOf(headers: Headers): number {
  return Number(/^"(\d+)-/.exec(headers.get("ETag") ?? "")?.[1]);
}
