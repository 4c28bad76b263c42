import { describe, expect, it } from "vitest";
import { accountFaultOf } from "../../src/core/events/account-fault.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import { CONNECTION, NOW, POLICY, SECOND } from "./builders.ts";
import { afterwards } from "./decisions.ts";
import { aCustomerKey, aResultAtOnce, aSendingTask, aSubmission } from "./submission-builders.ts";
import {
  aHook,
  anAttachedTask,
  anUpstreamFailure,
  aPollEnd,
  newsAnswer,
} from "./upstream-builders.ts";

const UNPAID = anUpstreamFailure({ error: { code: "upstream_funds", message: "no" } });
const FAULT = { connection: CONNECTION, refusal: "funds" };
const found = aPollEnd(newsAnswer(UNPAID));

function faultAfter(before: TaskRecord, event: TaskEvent) {
  const after = afterwards(transition(before, event, POLICY, NOW + SECOND));
  return accountFaultOf(before, event, after);
}

describe("the report that a job has failed because of the operator's account at the upstream", () => {
  it.each<[string, TaskRecord, TaskEvent]>([
    ["a poll", anAttachedTask(), found],
    ["a signed hook", anAttachedTask(), aHook(UNPAID, { isSigned: true })],
    ["the answer to the submission", aSendingTask(), aResultAtOnce(UNPAID)],
  ])("is made when %s shows it", (_, before, event) => {
    expect(faultAfter(before, event)).toEqual(FAULT);
  });

  it("is not made for another failure, after the end of the task, and for a job with a customer's own key", () => {
    const task = anAttachedTask();
    expect(faultAfter(task, aPollEnd(newsAnswer(anUpstreamFailure())))).toBeNull();
    const ended = afterwards(transition(task, found, POLICY, NOW + SECOND));
    expect(faultAfter(ended, found)).toBeNull();
    const submission = aSubmission({ customerKey: aCustomerKey() });
    expect(faultAfter(anAttachedTask({}, { submission }), found)).toBeNull();
  });

  it("is not made for a failure that only an unsigned hook claims", () => {
    expect(faultAfter(anAttachedTask(), aHook(UNPAID))).toBeNull();
  });
});
