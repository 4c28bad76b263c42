import { expect, it } from "vitest";
import { transition } from "../../src/core/transition.ts";
import { isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { HOUR, MINUTE, NOW, POLICY, PROCESSING, SECOND } from "./builders.ts";
import { apply, expectUnchanged } from "./decisions.ts";
import {
  anAnswer,
  anAttachedTask,
  aPlan,
  aPollEnd,
  aTracking,
  FIRST_POLL,
  newsAnswer,
  NO_OUTPUT,
  ONE_POLL,
  QUEUED,
} from "./upstream-builders.ts";

const task = anAttachedTask();
const deadlineAt = NOW + 4 * HOUR;

it("after a poll whose answer is not understood, the operator sees in the task this answer and its time, until the answer to a poll is understood again", () => {
  const unclear = { kind: "unclear", statusCode: 200, word: "complete?" } as const;
  const record = apply(task, aPollEnd(unclear), FIRST_POLL);
  const poll = aPlan({
    answer: anAnswer("unclear", FIRST_POLL, { statusCode: 200, word: "complete?" }),
  });
  const tracking = aTracking({ poll });
  expect(record).toEqual({ ...task, version: FIRST_POLL, tracking, counts: ONE_POLL });
  const shown = { since: Math.floor(FIRST_POLL / 1000), status_code: 200, word: "complete?" };
  expect(JSON.parse(taskView(record, "operator"))).toMatchObject({
    tracking: { unclear: shown },
  });
  expect(JSON.parse(taskView(record, "account"))).not.toHaveProperty("tracking");
  expectUnchanged(record, aPollEnd(unclear), FIRST_POLL + SECOND);
  const understood = apply(record, aPollEnd(newsAnswer(QUEUED)), FIRST_POLL + SECOND);
  expect(understood.version).toBeGreaterThan(record.version);
  expect(JSON.parse(taskView(understood, "operator"))).not.toHaveProperty("tracking");
});

it("a task with an extended deadline ends at most six hours after it, even if its polls report by turns success without output and processing", () => {
  const tracking = { ...task.tracking, isExtended: true };
  let record: TaskRecord = { ...task, tracking, deadlineAt };
  let now = deadlineAt;
  for (const answers = [NO_OUTPUT, PROCESSING]; !isTerminal(record); now += 5 * MINUTE) {
    const news = answers[Math.round((now - deadlineAt) / (5 * MINUTE)) % 2] ?? NO_OUTPUT;
    const end = transition(record, aPollEnd(newsAnswer(news), { askedAt: now }), POLICY, now);
    if (end.kind === "changed") ({ record } = end);
  }
  expect(record).toMatchObject({ failure: { category: "timeout" } });
  expect(now - deadlineAt).toBeLessThanOrEqual(6 * HOUR + 5 * MINUTE);
});
