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
  "a poll sent to confirm a job id that only a hook has stated %s, and changes nothing, because an event has meanwhile reported that the job runs",
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
  ["of unknown outcome", withPrice(anUnknownTask())],
])(
  "repeating a submission that was %s changes nothing, even if its offer has had another price or none since",
  (_what, task) => {
    for (const credits of [9, null]) {
      expectUnchanged(task, { ...aPricedSubmission({ credits }), isPriceOffered: true });
      expectRefused(task, aPricedSubmission({ credits }), "task_exists");
    }
    const other = aPricedSubmission({ credits: 9 }, { requestDigest: "digest-2" });
    expectRefused(task, { ...other, isPriceOffered: true }, "task_exists");
  },
);
