import { expect, it } from "vitest";
import { taskFacts } from "../../src/core/views/task-facts.ts";
import {
  ACCOUNT,
  aCallback,
  aFinishedTask,
  anAttempt,
  anOpenTask,
  aRegistration,
  BODY,
  HOUR,
  ID,
  NOW,
  ORIGIN,
  POLICY,
  runningSince,
  SECOND,
  URL_A,
  URL_B,
} from "./builders.ts";
import {
  aQueued,
  aSending,
  anAccepted,
  anUnknown,
  FAILS_AT,
  SENDING_ENDS,
} from "./stored-submissions.ts";

const TIMES = { attachedAt: NOW, hookAt: null, askedAt: NOW + SECOND };

it("taskFacts, which collects for the console what a task's view does not have, returns for an open task no end, no times of the job and no callback", () => {
  const facts = taskFacts(anOpenTask(), "operator", POLICY);
  expect(facts).toMatchObject({ finishedAt: null, upstreamTimes: null, callback: null });
});

it("taskFacts returns for a finished task the time of its end, and only for the operator also the times of its job", () => {
  const task = aFinishedTask({ finishedAt: NOW + 7, upstreamTimes: TIMES });
  const ended = { finishedAt: NOW + 7, callback: { url: URL_A } };
  expect(taskFacts(task, "operator", POLICY)).toMatchObject({ ...ended, upstreamTimes: TIMES });
  expect(taskFacts(task, "account", POLICY)).toMatchObject({ ...ended, upstreamTimes: null });
});

it("taskFacts returns the deadline that a task's registration stated, and null when the registration stated none or is not stored any more", () => {
  const { registration } = aRegistration();
  const stated = registration && { ...registration, deadlineAt: NOW + HOUR };
  const deadlines = [stated, registration && { ...registration, deadlineAt: null }, null].map(
    (known) => taskFacts(anOpenTask({ registration: known }), "account", POLICY).statedDeadlineAt,
  );
  expect(deadlines).toEqual([NOW + HOUR, null, null]);
});

it("taskFacts returns a null submission for a task that the relay has not submitted", () => {
  expect(taskFacts(anOpenTask(), "operator", POLICY).submission).toBeNull();
});

it.each([
  ["queued", aQueued(), null, null, FAILS_AT],
  ["unsent", aSending({ state: { kind: "unsent" } }), null, null, null],
  ["sending", aSending(), null, null, SENDING_ENDS],
  ["accepted", anAccepted(NOW + SECOND), NOW + SECOND, 200, null],
  ["unknown", anUnknown(502), NOW + SECOND, 502, FAILS_AT],
] as const)(
  "taskFacts returns, for an open task with a submission in the state %s, the time and status of the upstream's answer, and until when the task waits",
  (state, submission, answeredAt, statusCode, waitsUntil) => {
    const facts = taskFacts(anOpenTask({ submission }), "operator", POLICY);
    expect(facts.submission).toMatchObject({ state, answeredAt, statusCode, waitsUntil });
    const ended = taskFacts(aFinishedTask({ submission }), "operator", POLICY);
    expect(ended.submission).toMatchObject({ state, answeredAt, statusCode, waitsUntil: null });
  },
);

it("taskFacts returns for a callback the values from which its request is made, and for each attempt the URL to which it went", () => {
  const attempts = [anAttempt({ url: URL_A }), anAttempt({ number: 2, url: null })];
  const state = runningSince(NOW + HOUR, 3);
  const callback = aCallback({ url: URL_B, attempts, lastNumber: 3, state });
  const facts = taskFacts(aFinishedTask({ account: ACCOUNT, callback }), "account", POLICY);
  const message = { taskId: ID, account: ACCOUNT, status: "completed", body: BODY, origin: ORIGIN };
  expect(facts.callback).toMatchObject({ message, url: URL_B, nextAttemptAt: null });
  const urls = facts.callback?.attempts.map(({ number, url }) => [number, url]);
  expect(urls).toEqual([
    [1, URL_A],
    [2, URL_B],
    [3, URL_B],
  ]);
});
