import { expect, it } from "vitest";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { aReport, NOW, PROCESSING } from "./builders.ts";
import { apply, expectRefused, expectUnchanged } from "./decisions.ts";
import {
  ANSWER,
  accepted,
  aChargingSubmission,
  aPricedSubmission,
  aSendingTask,
  aSubmission,
  aSubmissionHook,
  anUnknownTask,
  NOT_SENT,
  stating,
  withPrice,
} from "./submission-builders.ts";
import { aPollEnd, QUEUED, rateLimited, UNANSWERED } from "./upstream-builders.ts";

it("a second report that a submission was not sent changes nothing while its price is still being charged", () => {
  const dropped = apply(aChargingSubmission(), NOT_SENT);
  expectUnchanged(dropped, NOT_SENT);
});

it.each<[string, PollAnswer]>([
  ["is refused by a rate limit", rateLimited()],
  ["gets no answer", UNANSWERED],
])(
  "once an event has reported that the submitted job runs, a poll of a job that only a hook has named changes nothing when the poll %s",
  (_what, answer) => {
    const named = apply(anUnknownTask(), aSubmissionHook(QUEUED), NOW, stating());
    const running = apply(named, aReport(PROCESSING), NOW, stating());
    expect(running).toMatchObject({ submission: { state: { kind: "accepted" } } });
    expectUnchanged(running, aPollEnd(answer, { purpose: "kept_job", askedAt: NOW }));
  },
);

it.each([
  [
    "accepted",
    withPrice(aSendingTask({ submission: aSubmission({ state: accepted(), answer: ANSWER }) })),
  ],
  ["of an unknown outcome", withPrice(anUnknownTask())],
])(
  "sending a submission again that is %s changes nothing, even if its offer has had another price or none since",
  (_what, task) => {
    for (const credits of [9, null]) {
      expectUnchanged(task, { ...aPricedSubmission({ credits }), isPriceOffered: true });
      expectRefused(task, aPricedSubmission({ credits }), "task_exists");
    }
    const other = aPricedSubmission({ credits: 9 }, { requestDigest: "digest-2" });
    expectRefused(task, { ...other, isPriceOffered: true }, "task_exists");
  },
);
