import { expect, it } from "vitest";
import { refusal } from "./client.ts";
import { START, START_S, until, useClock } from "./clock.ts";
import { evict, restart, stored, wake } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import { endCall, queued, startCall, submitted } from "./submitted-tasks.ts";
import { cancel, read } from "./tasks.ts";

useClock();

const ANSWER = { status: 400, contentType: "application/json", body: '{"error":"no"}' };
const REFUSED = { kind: "refused", statusCode: 400, refusal: "final", answer: ANSWER } as const;
const HOUR_S = 3_600;

it("a task's Durable Object tells the object of a call to send it, and tells it so again after it was evicted from memory", async () => {
  const task = await queued();
  const send = { kind: "send", recordedAt: START, customerKey: null };
  const first = await startCall(task);
  expect(first).toMatchObject({ ...send, endsAt: START + 660_000 });
  expect((await stored(task.id)).alarm).toBe(START + 660_000);
  await evict(task.id);
  expect(await startCall(task)).toEqual(first);
});

it("a task shows that its call waits and until when, and fails with queue_timeout when nobody has begun it by then", async () => {
  aReceiver();
  const task = await queued();
  const waiting = { state: "queued", started_at: START_S, start_by: START_S + HOUR_S };
  expect(await read(task.id)).toMatchObject({ status: "pending", submission: waiting });
  await restart(task.id);
  await wake(task.id, HOUR_S * 1_000);
  expect(await read(task.id)).toMatchObject({
    status: "failed",
    error: { code: "queue_timeout" },
    failure: { category: "timeout", retryable: true },
    submission: { state: "unsent" },
  });
  expect(await startCall(task)).toEqual({ kind: "gone" });
});

it("a call that is canceled while it waits is never sent, and one that is being sent cannot be canceled", async () => {
  aReceiver();
  const [waiting, sending] = [await queued(), await queued()];
  await startCall(sending);
  expect((await cancel(waiting.id)).status).toBe(200);
  expect(await startCall(waiting)).toEqual({ kind: "gone" });
  expect(await refusal(await cancel(sending.id))).toEqual({
    status: 409,
    code: "submission_running",
  });
});

it("a call that the upstream refuses fails its task with a callback, and the task keeps the upstream's answer", async () => {
  const received = aReceiver();
  const task = await queued();
  await startCall(task);
  expect(await endCall(task, REFUSED)).toBe(false);
  expect(await endCall(task, REFUSED)).toBe(false);
  const { record } = await stored(task.id);
  expect(record).toMatchObject({ status: "failed", submission: { answer: ANSWER } });
  expect(await read(task.id)).toMatchObject({ submission: { state: "refused", status_code: 400 } });
  await until(() => received.length === 1);
});

it("the order to begin a call of another life of a task, or of none, is answered that the call is gone", async () => {
  const task = await queued();
  expect(await startCall({ ...task, submissionId: "another" })).toEqual({ kind: "gone" });
  expect(await startCall({ ...task, id: crypto.randomUUID() })).toEqual({ kind: "gone" });
  expect(await endCall({ ...task, submissionId: "another" }, REFUSED)).toBe(false);
  const waiting = await submitted();
  expect(await endCall(waiting, REFUSED)).toBe(false);
});
