import { expect, it } from "vitest";
import type { HookRefusedEvent } from "../../src/core/events/event.ts";
import type { Policy } from "../../src/core/policy.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import type { HookRefusal } from "../../src/core/record/tracking.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  aCallback,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  CONNECTION,
  HOUR,
  MINUTE,
  NOW,
  NOW_S,
  SECOND,
} from "./builders.ts";
import { aRefundingTask } from "./credit-builders.ts";
import { aCancelingTask, answeredAs } from "./cancel-builders.ts";
import { apply, expectUnchanged } from "./decisions.ts";
import {
  anAnswer,
  anAttachedTask,
  aProvidedTask,
  FIRST_POLL,
  NO_KEY,
  UPSTREAM,
} from "./upstream-builders.ts";

const NO_HOOKS = { is_extended: false, hooks_taken: 0, hooks_kept: 0, hooks_refused: [] };
const DEADLINE = NOW + HOUR;

function view(record: Parameters<typeof taskView>[0], policy: Policy, reader = "operator") {
  const text = taskView(record, reader === "operator" ? reader : "account", null, policy);
  return JSON.parse(text);
}

function next(at: number, reason: string) {
  return { next_poll_at: Math.floor(at / 1000), next_poll_reason: reason };
}

function refused(reason: HookRefusal): HookRefusedEvent {
  return { type: "hook_refused", connection: CONNECTION, reason };
}

it.each([
  ["has not been polled yet", {}, {}, next(FIRST_POLL, "schedule")],
  [
    "has not answered the latest polls",
    { unansweredSince: NOW, answer: anAnswer("processing", NOW - SECOND) },
    { askedAt: NOW + 20 * SECOND, polledAt: FIRST_POLL },
    { answer: "unanswered", answer_since: NOW_S, asked_at: NOW_S + 20 },
  ],
  [
    "answers that the job is running",
    { answer: anAnswer("processing", NOW) },
    {},
    { answer: "processing", answer_since: NOW_S, ...next(FIRST_POLL, "schedule") },
  ],
  [
    "refuses polls by its rate limit",
    { answer: anAnswer("limited", NOW), notBefore: NOW + MINUTE },
    {},
    { answer: "limited", ...next(NOW + MINUTE, "retry_after") },
  ],
  [
    "reports success without output",
    { answer: anAnswer("no_output", NOW) },
    {},
    { answer: "no_output", ...next(NOW + 15 * SECOND, "no_output") },
  ],
  [
    "refuses polls for 30 minutes by its rate limit, and the relay has been paused",
    { notBefore: NOW + 30 * MINUTE },
    { pausedAt: NOW + MINUTE },
    { paused: true, ...next(NOW + 30 * MINUTE, "retry_after") },
  ],
  [
    "has not sent its expected hook and was polled since",
    { hookWaitMs: 5 * MINUTE },
    { polledAt: NOW + 6 * MINUTE },
    { next_poll_reason: "schedule" },
  ],
  ["is expected to send a hook", { hookWaitMs: 5 * MINUTE }, {}, { next_poll_reason: "hook_late" }],
  [
    "has said by a hook that the job is running",
    { postponedTo: NOW + 2 * MINUTE },
    { polledAt: FIRST_POLL },
    next(NOW + 2 * MINUTE, "hook_running"),
  ],
  [
    "has claimed the end of the job by an unsigned hook",
    { hint: { at: NOW + SECOND, status: "completed" } },
    {},
    next(NOW + SECOND, "hook_ended"),
  ],
  [
    "has been polled as often per minute as its provider connection allows",
    {},
    { pollDeferredTo: NOW + MINUTE },
    next(NOW + MINUTE, "rate_limit"),
  ],
  ["is next polled at the deadline", {}, { polledAt: DEADLINE - 1 }, next(DEADLINE, "deadline")],
] as const)(
  "the view of a task shows the operator the upstream's last answer to a poll, and when and why the job is polled next: here the upstream %s",
  (_what, plan, policy, expected) => {
    const task = anAttachedTask(plan, { deadlineAt: DEADLINE });
    const { tracking } = view(task, aPolicy({ polledAt: NOW, ...policy }));
    expect(tracking).toMatchObject({ ...NO_HOOKS, ...expected });
  },
);

it("the view of a task shows the operator tracking.paused: true only while the relay is paused and would otherwise poll the task's job", () => {
  const pausedAt = NOW + MINUTE;
  const paused = aPolicy({ polledAt: NOW, pausedAt });
  expect(view(anAttachedTask(), paused).tracking).toEqual({
    paused: true,
    next_poll_at: expect.any(Number),
    next_poll_reason: "paused",
    ...NO_HOOKS,
  });
  const running = aPolicy({ polledAt: NOW });
  const first = next(FIRST_POLL, "schedule");
  expect(view(anAttachedTask(), running).tracking).toEqual({ ...first, ...NO_HOOKS });
  expect(view(aProvidedTask(), paused).tracking).toEqual(NO_HOOKS);
  expect(view(anAttachedTask(), { ...NO_KEY, pausedAt }).tracking).toEqual(NO_HOOKS);
  expect(view(anOpenTask(), paused)).not.toHaveProperty("tracking");
  expect(view(anAttachedTask(), paused, "account")).not.toHaveProperty("tracking");
});

it("the view of a finished task says whether its callback waits for the end of a pause or for the refund of its credits; only an operator sees when the refund is tried next", () => {
  const due = aCallback({ state: { kind: "due", nextAttemptAt: NOW } });
  const waiting = aFinishedTask({ callback: due });
  expect(view(waiting, aPolicy()).callback).not.toHaveProperty("paused");
  for (const reader of ["operator", "account"]) {
    const { callback } = view(waiting, aPolicy({ pausedAt: NOW }), reader);
    expect(callback).toMatchObject({ status: "retrying", paused: true, next_attempt_at: NOW_S });
  }
  const delivered = view(aFinishedTask(), aPolicy({ pausedAt: NOW }));
  expect(delivered.callback).not.toHaveProperty("paused");
  const refunding = aRefundingTask();
  expect(view(refunding, aPolicy())).toMatchObject({
    callback: { status: "sending", waits_for: "refund" },
    credits: { state: "refunding", retry_at: expect.any(Number), tries: expect.any(Number) },
  });
  expect(view(refunding, aPolicy(), "account").credits).not.toHaveProperty("retry_at");
});

it("a task whose job runs stores at most three refused hooks for each reason of the refusal, and its version number does not change", () => {
  const times = [1, 2, 3].map((minutes) => NOW + minutes * MINUTE);
  const task = anAttachedTask();
  const signed = times.reduce<TaskRecord>(
    (record, at) => apply(record, refused("bad_signature"), at),
    task,
  );
  expectUnchanged(signed, refused("bad_signature"), NOW + HOUR);
  const both = apply(signed, refused("malformed"), NOW + HOUR);
  expect(both.version).toBe(task.version);
  expect(view(both, aPolicy()).tracking.hooks_refused).toEqual([
    ...times.map((at) => ({ at: Math.floor(at / 1000), reason: "bad_signature" })),
    { at: NOW_S + 3600, reason: "malformed" },
  ]);
  expectUnchanged(anOpenTask(), refused("bad_signature"), NOW);
  expectUnchanged(aFinishedTask({ upstream: UPSTREAM }), refused("bad_signature"), NOW);
  expectUnchanged(null, refused("bad_signature"), NOW);
});

it("when the upstream has accepted to cancel a job, the view of the task shows the operator that the relay polls the job a second later, and for this reason", () => {
  const task = aCancelingTask({ state: answeredAs("accepted") }, { deadlineAt: DEADLINE });
  const expected = next(NOW + SECOND, "cancel_answered");
  expect(view(task, aPolicy({ polledAt: NOW })).tracking).toMatchObject(expected);
});
