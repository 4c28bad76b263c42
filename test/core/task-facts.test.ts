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
  ["queued", aQueued(), null, null, null, FAILS_AT],
  ["unsent", aSending({ state: { kind: "unsent" } }), null, null, null, null],
  ["sending", aSending(), NOW, null, null, SENDING_ENDS],
  ["accepted", anAccepted(NOW + SECOND), NOW, NOW + SECOND, 200, null],
  ["unknown", anUnknown(502), NOW, NOW + SECOND, 502, FAILS_AT],
] as const)(
  "taskFacts returns, for an open task with a submission in the state %s, when its call was sent, the time and status of the upstream's answer, and until when the task waits",
  (state, submission, sentAt, answeredAt, statusCode, waitsUntil) => {
    const known = { state, sentAt, answeredAt, statusCode };
    const facts = taskFacts(anOpenTask({ submission }), "operator", POLICY);
    expect(facts.submission).toMatchObject({ ...known, waitsUntil });
    const ended = taskFacts(aFinishedTask({ submission }), "operator", POLICY);
    expect(ended.submission).toMatchObject({ ...known, waitsUntil: null });
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

it("taskFacts returns the endpoint and the trace with which the request of a callback is made, and for each attempt the endpoint to which it went, if it was one", () => {
  const present = { name: "present", secret: { id: "present-secret", generation: 2 } };
  const past = { name: "past" };
  const attempts = [
    anAttempt({ url: URL_A, endpoint: past }),
    anAttempt({ number: 2, url: URL_A }),
    anAttempt({ number: 3, url: null }),
  ];
  const state = runningSince(NOW + HOUR, 4);
  const callback = aCallback({ terms: { endpoint: present }, attempts, lastNumber: 4, state });
  const trace = { parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" };
  const facts = taskFacts(aFinishedTask({ trace, callback }), "operator", POLICY);
  expect(facts.callback?.message).toMatchObject({ endpoint: present, trace });
  const endpoints = facts.callback?.attempts.map(({ endpoint }) => endpoint);
  expect(endpoints).toEqual([past, undefined, present, present]);
});
