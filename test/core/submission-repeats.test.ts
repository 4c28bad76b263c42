import { expect, it } from "vitest";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { aReport, NOW, PROCESSING } from "./builders.ts";
import { apply, expectUnchanged } from "./decisions.ts";
import {
  aChargingSubmission,
  aSubmissionHook,
  anUnknownTask,
  NOT_SENT,
  stating,
} from "./submission-builders.ts";
import { aPollEnd, QUEUED, rateLimited, UNANSWERED } from "./upstream-builders.ts";

it("the word that no call is sent changes nothing when it is repeated while the price is still being charged", () => {
  const dropped = apply(aChargingSubmission(), NOT_SENT);
  expectUnchanged(dropped, NOT_SENT);
});

it.each<[string, PollAnswer]>([
  ["is refused by a rate limit", rateLimited()],
  ["gets no answer", UNANSWERED],
])(
  "a poll of a kept job that %s changes neither the deadline nor the kept hooks when a report has settled the submission meanwhile",
  (_what, answer) => {
    const named = apply(anUnknownTask(), aSubmissionHook(QUEUED), NOW, stating());
    const running = apply(named, aReport(PROCESSING), NOW, stating());
    expect(running).toMatchObject({ submission: { state: { kind: "accepted" } } });
    expectUnchanged(running, aPollEnd(answer, { purpose: "kept_job", askedAt: NOW }));
  },
);
