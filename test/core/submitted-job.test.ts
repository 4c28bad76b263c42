import { expect, it } from "vitest";
import { askedJobOf, submittedJobOf } from "../../src/core/record/submitted-job.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { aCompletion, aFinishedTask, anOpenTask, CONNECTION } from "./builders.ts";
import { apply } from "./decisions.ts";
import {
  anAcceptance,
  aResultAtOnce,
  aSendingTask,
  aSubmission,
  aSubmissionHook,
  knownOtherwise,
} from "./submission-builders.ts";
import { anAttachedTask, JOB, UPSTREAM } from "./upstream-builders.ts";

const sending = aSendingTask();

it.each<[string, TaskRecord]>([
  ["has named it in its answer", apply(sending, anAcceptance())],
  ["has answered with its result", apply(sending, aResultAtOnce(aCompletion()))],
])("clients read a submitted job through the relay when the upstream %s", (_, task) => {
  expect(submittedJobOf(task)).toEqual({ connection: CONNECTION, job: JOB });
});

it.each<[string, TaskRecord]>([
  ["of a task without an upstream", anOpenTask()],
  ["that the relay has not submitted", anAttachedTask()],
  ["of a finished task that the relay has not submitted", aFinishedTask({ upstream: UPSTREAM })],
  ["whose submission the upstream has not answered", sending],
  [
    "that only a signed hook has named so far",
    apply(sending, aSubmissionHook({ status: "processing" }, { isSigned: true })),
  ],
  [
    "that is known by something else than the answer",
    anAttachedTask({}, { submission: aSubmission({ state: knownOtherwise() }) }),
  ],
  [
    "of a call whose answer was the result and named no job",
    apply(sending, aResultAtOnce(aCompletion(), null)),
  ],
])("clients cannot read a job through the relay %s", (_, task) => {
  expect([submittedJobOf(task), askedJobOf(task)]).toEqual([null, null]);
});
