import { expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { noticeOf } from "../../src/core/record/operator-notice.ts";
import { nextStep } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  ACCOUNT,
  aCompletion,
  aFinishedTask,
  aPolicy,
  aReport,
  finished,
  HOUR,
  NOW,
  VIDEO,
} from "./builders.ts";
import { apply, finish } from "./decisions.ts";
import {
  aHook,
  anAttachedTask,
  anAttachment,
  anUpstreamFailure,
  aPollEnd,
  aProvidedTask,
  newsAnswer,
  NO_KEY,
  NO_OUTPUT,
} from "./upstream-builders.ts";

const USAGE = { completion_tokens: 108_900, cost: 0.25 };
const used = { ...aCompletion(), usage: USAGE };
const attached = anAttachedTask();
const kept = apply(aProvidedTask(), aHook(used));
const signed = { isSigned: true };

it.each<[string, object | null, TaskEvent, typeof attached | typeof kept]>([
  ["a success in the answer to a poll", USAGE, aPollEnd(newsAnswer(used)), attached],
  [
    "a failure in the answer to a poll",
    USAGE,
    aPollEnd(newsAnswer({ ...anUpstreamFailure(), usage: USAGE })),
    attached,
  ],
  ["a success in a signed hook", USAGE, aHook(used, signed), attached],
  ["a success in a hook that came before the job was attached", USAGE, anAttachment(), kept],
  ["a success without output", USAGE, aHook({ ...NO_OUTPUT, usage: USAGE }), attached],
  [
    "a success with too many links",
    USAGE,
    aHook({ ...used, urls: Array(1_001).fill(VIDEO) }, signed),
    attached,
  ],
  [
    "a success of which the upstream states no usage",
    null,
    aPollEnd(newsAnswer(aCompletion())),
    attached,
  ],
  ["an event of the operator", null, aReport(), attached],
])(
  "when a task ends by %s, the usage stored in the task is %j, and the body of its callback mentions none",
  (_what, usage, event, task) => {
    const policy = event.type === "hook" || event.type === "attach" ? NO_KEY : aPolicy();
    const record = finish(task, event, NOW, policy);
    expect(record.usage).toEqual(usage);
    expect(record.body).not.toMatch(/usage|tokens|cost/);
  },
);

it("the view of a task shows the operator, but not an account, the usage (such as tokens) that the upstream has stated for the job", () => {
  const record = aFinishedTask({ account: ACCOUNT, usage: USAGE });
  expect(JSON.parse(taskView(record, "operator"))).toMatchObject({ usage: USAGE });
  expect(JSON.parse(taskView(record, "account"))).not.toHaveProperty("usage");
  const unknown = JSON.parse(taskView({ ...record, usage: null }, "operator"));
  expect(unknown).not.toHaveProperty("usage");
});

it("when a hook reports a success after the task has failed, the usage in the hook is stored in the task and sent to the operator in the event task.late_result", () => {
  const policy = aPolicy({ isOperatorNotified: true });
  const later = attached.deadlineAt + HOUR;
  const timedOut = finish(attached, { type: "deadline" }, attached.deadlineAt, NO_KEY);
  const idle = { ...timedOut, callback: null };
  const record = finished(transition(idle, aHook(used, signed), policy, later));
  const { version } = record;
  expect(version).toBeGreaterThan(timedOut.version);
  const details = { output: { urls: [VIDEO], metadata: {} } };
  const notices = [noticeOf("task.late_result", version, later, details)];
  expect(record).toMatchObject({ usage: USAGE, body: timedOut.body, notices });
  const step = nextStep(record, policy, later);
  const task: unknown = step?.kind === "sendNotice" ? JSON.parse(step.notice.task) : null;
  expect(task).toMatchObject({ status: "failed", usage: USAGE });
});
