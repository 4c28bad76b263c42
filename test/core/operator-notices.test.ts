import { describe, expect, it } from "vitest";
import {
  afterTry,
  type Notice,
  noticeOf,
  withNotice,
} from "../../src/core/record/operator-notice.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { TerminalTask, OpenTask } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import type { PollAnswer, TaskEvent } from "../../src/core/events/event.ts";
import {
  aCallback,
  aCompletion,
  aCreation,
  anOpenTask,
  aFinishedTask,
  anEndAs,
  committed,
  finished,
  aPolicy,
  aRedelivery,
  aReport,
  DAY,
  HOUR,
  ID,
  MINUTE,
  NOW,
  SECOND,
  URL_A,
  POLICY,
  PROCESSING,
} from "./builders.ts";
import {
  aChargingTask,
  aRefundEnd,
  aRefundingTask,
  credits,
  refunding,
} from "./credit-builders.ts";
import { finish, apply, expectUnchanged } from "./decisions.ts";
import {
  UPSTREAM,
  anAnswer,
  anAttachedTask,
  anAttachment,
  aPollEnd,
  newsAnswer,
  NO_OUTPUT,
  OTHER_JOB,
} from "./upstream-builders.ts";

const LATER = NOW + HOUR;

const NOTIFYING = aPolicy({ isOperatorNotified: true, scheduleMs: [0, MINUTE] });
const SILENT = aPolicy({ scheduleMs: [0, MINUTE] });
const UNWANTED = {
  ...NOTIFYING,
  unwantedNotices: new Set(["callback.failed", "refund.delayed"]),
};
const LIMIT = 5 * MINUTE;
/** Time in milliseconds, longer than the operator's receiver may take to answer. */
const CLEARANCE = 5_500;

const FAILED: Notice = noticeOf("callback.failed", NOW, NOW);

/** Ends all attempts of the running series with refusals by the receiver. */
function refusedToTheEnd(record: TerminalTask, policy = NOTIFYING): TerminalTask {
  let task = record;
  while (task.callback?.state.kind === "in_flight" || task.callback?.state.kind === "due") {
    const { state } = task.callback;
    const [event, at] =
      state.kind === "in_flight"
        ? [anEndAs(state.number, "rejected"), state.startedAt]
        : [{ type: "attempt_started" } as const, state.nextAttemptAt];
    task = finish(task, event, at, policy);
  }
  return task;
}

function reported(policy = NOTIFYING): TerminalTask {
  return finish(null, aReport(aCompletion(), aCreation()), NOW, policy);
}

describe("the operator event callback.failed", () => {
  it("the operator event callback.failed is created once, when the last callback attempt of the series has failed", () => {
    const first = finish(reported(), anEndAs(1, "timeout"), NOW, NOTIFYING);
    expect(first.notices).toEqual([]);
    const { notices, version } = refusedToTheEnd(reported());
    expect(notices).toEqual([noticeOf("callback.failed", version, NOW + MINUTE)]);
  });

  it("the operator event callback.failed is created a second time, with a newer version number of the task, when a redelivery fails, too", () => {
    const failed = refusedToTheEnd(reported());
    const again = finish(failed, aRedelivery({ attempts: 3 }), NOW + HOUR, NOTIFYING);
    expect(again.notices).toEqual(failed.notices);
    const { notices } = refusedToTheEnd(again);
    expect(notices.map(({ kind }) => kind)).toEqual(["callback.failed", "callback.failed"]);
    expect(new Set(notices.map(({ version }) => version)).size).toBe(2);
  });

  it("the operator event callback.failed is not created when the end of a callback attempt is reported after the callback has already failed", () => {
    const failed = refusedToTheEnd(reported());
    expect(transition(failed, anEndAs(2, "rejected"), NOTIFYING, NOW + HOUR).kind).toBe(
      "unchanged",
    );
  });

  it.each([
    [
      "a series of attempts that succeeds",
      () => finish(reported(), anEndAs(1, "delivered"), NOW, NOTIFYING),
    ],
    [
      "a task of a relay that does not notify its operator",
      () => refusedToTheEnd(reported(SILENT), SILENT),
    ],
    [
      "an operator who does not want events of this type",
      () => refusedToTheEnd(reported(), UNWANTED),
    ],
  ])("the operator event callback.failed is not created for %s", (_what, end) => {
    expect(end().notices).toEqual([]);
  });
});

/** Returns a task whose refund the ledger has not answered until this time after the failure. */
function unrefunded(forMs: number, policy = NOTIFYING, isRefunded = false): TerminalTask {
  let task: TerminalTask = aRefundingTask();
  for (;;) {
    const retryAt = task.credits?.state.kind === "refunding" ? task.credits.state.retryAt : 0;
    if (retryAt > NOW + forMs) {
      return isRefunded ? finish(task, aRefundEnd(true), retryAt, policy) : task;
    }
    task = finish(task, aRefundEnd(false), retryAt, policy);
  }
}

describe("the operator event refund.delayed", () => {
  it("the operator event refund.delayed is created once, by the failed refund try whose next try is planned over 5 minutes after the task failed", () => {
    expect(unrefunded(2 * MINUTE).notices).toEqual([]);
    const { notices, version } = unrefunded(LIMIT);
    const retryAt = NOW + 155 * SECOND;
    expect(notices).toEqual([noticeOf("refund.delayed", version, retryAt)]);
    expect(unrefunded(DAY).notices).toEqual(notices);
  });

  it("an operator event refund.delayed that is not sent yet is kept and sent even if the refund succeeds in the meantime", () => {
    expect(unrefunded(LIMIT, NOTIFYING, true).notices).toHaveLength(1);
  });

  it("the operator event refund.delayed is created once, also when the first try to refund comes an hour after the task failed", () => {
    const late = finish(aRefundingTask(), aRefundEnd(false), NOW + HOUR, NOTIFYING);
    const later = finish(late, aRefundEnd(false), NOW + 2 * HOUR, NOTIFYING);
    expect(later.notices.map(({ kind }) => kind)).toEqual(["refund.delayed"]);
  });

  it("the operator event refund.delayed is created by the failed refund try 5 minutes after the task failed, not by the try before it", () => {
    const before = aRefundingTask({ credits: credits(refunding(NOW + LIMIT - 5 * SECOND)) });
    const at = finish(before, aRefundEnd(false), NOW + LIMIT - 5 * SECOND, NOTIFYING);
    expect(at).toMatchObject({ credits: { state: { retryAt: NOW + LIMIT } }, notices: [] });
    const after = finish(at, aRefundEnd(false), NOW + LIMIT, NOTIFYING);
    expect(after.notices).toMatchObject([{ kind: "refund.delayed" }]);
  });

  it.each([
    ["a refund that succeeded within 5 minutes", () => unrefunded(2 * MINUTE, NOTIFYING, true)],
    ["a task of a relay that does not notify its operator", () => unrefunded(DAY, SILENT)],
    ["an operator who does not want events of this type", () => unrefunded(DAY, UNWANTED)],
  ])("the operator event refund.delayed is not created for %s", (_what, end) => {
    expect(end().notices).toEqual([]);
  });
});

describe("an operator event that was not accepted", () => {
  it("an operator event that the operator does not accept is sent again after 5 s, then after doubled waits of at most 5 min, and dropped after 10 tries", () => {
    let notices: readonly Notice[] = [FAILED];
    const waits: number[] = [];
    for (let tries = 1; tries <= 9; tries++) {
      notices = afterTry(notices, { ...FAILED, isTaken: false }, NOW);
      expect(notices).toMatchObject([{ kind: FAILED.kind, version: NOW, tries }]);
      waits.push(((notices[0]?.retryAt ?? 0) - NOW) / SECOND);
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
    expect(afterTry(notices, { ...FAILED, isTaken: false }, NOW)).toEqual([]);
  });

  it("an operator event that the operator has not accepted does not delay another operator event of the same task", () => {
    const other = noticeOf("refund.delayed", NOW, NOW);
    const notices = afterTry([FAILED, other], { ...FAILED, isTaken: false }, NOW);
    expect(notices.map(({ retryAt }) => retryAt)).toEqual([NOW + 5 * SECOND, NOW]);
    const task = aFinishedTask({ notices });
    expect(nextStep(task, NOTIFYING, NOW)).toMatchObject({ notice: { kind: "refund.delayed" } });
  });

  it("an operator event of a task is dropped when the task has nine newer ones", () => {
    let notices: readonly Notice[] = [];
    for (let i = 0; i < 11; i++) notices = withNotice(notices, noticeOf(FAILED.kind, NOW + i, NOW));
    expect(notices.map(({ version }) => version - NOW)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

function dueAt(ms: number) {
  return { kind: "due", nextAttemptAt: NOW + ms } as const;
}

describe("the end of a try to send an operator event", () => {
  const notice = noticeOf("callback.failed", NOW, NOW);
  const other: Notice = { ...notice, kind: "refund.delayed" };
  const older: Notice = { ...notice, version: NOW - 1 };
  const record = aFinishedTask({ notices: [older, notice, other] });
  const ended = (isTaken: boolean): TaskEvent => {
    const { kind, version } = notice;
    return { type: "notice_ended", kind, version, isTaken };
  };

  it("an operator event that the operator has accepted is removed from the task; the task's other events stay", () => {
    expect(committed(transition(record, ended(true), POLICY, LATER))).toEqual({
      ...record,
      notices: [older, other],
    });
  });

  it("an operator event that the operator has not accepted is planned to be sent again after 5 s", () => {
    const again = { ...notice, retryAt: LATER + 5 * SECOND, tries: 1 };
    expect(finished(transition(record, ended(false), POLICY, LATER)).notices).toEqual([
      older,
      again,
      other,
    ]);
  });

  it.each([
    ["does not exist", null],
    ["was created again under the same id", anOpenTask()],
    ["was created again under the same id and is being charged", aChargingTask()],
    ["has only an event of another type to send", aFinishedTask({ notices: [other] })],
    ["has only an earlier event of the same type to send", aFinishedTask({ notices: [older] })],
  ])("the result of sending an operator event is ignored when the task %s", (_what, gone) => {
    expect(transition(gone, ended(true), POLICY, LATER)).toEqual({
      kind: "unchanged",
      record: gone,
    });
  });
});

describe("an operator event", () => {
  const task = aFinishedTask({ upstream: UPSTREAM, notices: [FAILED] });

  it("an operator event is sent with its type, the version and id of the task, the callback's host, and the task as JSON for the operator", () => {
    expect(nextStep(task, NOTIFYING, NOW)).toEqual({
      kind: "sendNotice",
      notice: {
        taskId: ID,
        account: null,
        host: new URL(URL_A).host,
        kind: "callback.failed",
        version: NOW,
        details: null,
        task: taskView(task, "operator"),
      },
    });
  });

  it("the alarm of a task is planned for the time when an operator event is due", () => {
    const later = aFinishedTask({ notices: [{ ...FAILED, retryAt: NOW + HOUR }] });
    expect(wakeAt(later, NOTIFYING)).toBe(NOW + HOUR);
    expect(nextStep(later, NOTIFYING, NOW + HOUR - 1)).toBeNull();
  });

  it.each([
    ["the task has stored no operator event", aFinishedTask(), NOTIFYING],
    ["the relay does not notify its operator any more", task, SILENT],
    ["the operator does not want events of its type any more", task, UNWANTED],
  ])("an operator event is not sent when %s", (_what, record, policy) => {
    expect(nextStep(record, policy, NOW)).toBeNull();
    expect(wakeAt(record, policy)).toBe(record.expiresAt);
  });

  it("when several steps of a task are due at once, its callback attempt, index write and erasure come before the operator event", () => {
    const policy = aPolicy({ isOperatorNotified: true, isIndexed: true });
    expect(nextStep(task, policy, NOW)?.kind).toBe("writeIndexRow");
    const again = finish(task, aRedelivery(), NOW, policy);
    expect(nextStep(again, policy, NOW + MINUTE)).toMatchObject({ event: { number: 2 } });
    const { expiresAt } = task;
    const notices = afterTry(task.notices, { ...FAILED, isTaken: false }, expiresAt);
    expect(nextStep({ ...task, notices }, NOTIFYING, expiresAt)).toEqual({
      kind: "event",
      event: { type: "erase" },
    });
  });

  it.each([
    ["a callback attempt", aFinishedTask({ callback: aCallback({ state: dueAt(HOUR) }) }), "event"],
    ["a refund", aRefundingTask({ credits: credits(refunding(NOW + HOUR)) }), "refund"],
  ])(
    "an operator event waits until after %s that is planned so soon that sending the event first could delay it",
    (_what, waiting, first) => {
      const noticed = (at: number) => ({ ...waiting, notices: [{ ...FAILED, retryAt: at }] });
      const lastAt = NOW + HOUR - CLEARANCE;
      expect(nextStep(noticed(lastAt), NOTIFYING, lastAt)?.kind).toBe("sendNotice");
      expect(nextStep(noticed(lastAt + 1), NOTIFYING, lastAt + 1)).toBeNull();
      expect(wakeAt(noticed(lastAt + 1), NOTIFYING)).toBe(NOW + HOUR);
      expect(nextStep(noticed(lastAt + 1), NOTIFYING, NOW + HOUR)?.kind).toBe(first);
      const overdue = { ...noticed(NOW), version: lastAt + 1 };
      expect(wakeAt(overdue, NOTIFYING)).toBe(NOW + HOUR);
      const afterCall = { ...NOTIFYING, readyAt: lastAt };
      expect(nextStep(noticed(NOW), afterCall, lastAt)?.kind).toBe("sendNotice");
      const afterLongCall = { ...NOTIFYING, readyAt: lastAt + 1 };
      expect(nextStep(noticed(NOW), afterLongCall, lastAt + 1)).toBeNull();
    },
  );

  it("an order to write a task's index row again does not drop an operator event that the task still has to send", () => {
    const again = finish(task, { type: "rewrite_index_row", isAlwaysDue: true }, NOW, NOTIFYING);
    expect(again.notices).toEqual(task.notices);
  });
});

const UNCLEAR: PollAnswer = { kind: "unclear", statusCode: 404, word: "dreamt" };
const since = NOW + MINUTE;

/** Builds a task whose upstream has given the same answer since a minute after the task's creation. */
function answered(kind: "unclear" | "no_output" | "processing"): OpenTask {
  return anAttachedTask({ answer: anAnswer(kind, since) });
}

function polled(task: OpenTask, answer: PollAnswer, now: number) {
  return apply(task, aPollEnd(answer, { askedAt: now }), now, NOTIFYING);
}

describe("an operator event about the answers of an upstream", () => {
  const unclear = { status_code: 404, word: "dreamt" };

  it.each([
    [
      "the answers to its polls are not understood for an hour",
      answered("unclear"),
      UNCLEAR,
      HOUR,
      "upstream.unclear",
      unclear,
    ],
    [
      "a second poll finds success without output",
      answered("no_output"),
      newsAnswer(NO_OUTPUT),
      15_000,
      "upstream.no_output",
      null,
    ],
  ] as const)(
    "the operator is sent one event about a task and its upstream when %s",
    (_what, task, answer, afterMs, kind, details) => {
      const at = since + afterMs;
      const record = polled(task, answer, at);
      const notices = [noticeOf(kind, at, at, details)];
      expect(record).toMatchObject({ version: task.version, notices, tracking: { told: [kind] } });
      const later = { askedAt: at + MINUTE };
      expectUnchanged(record, aPollEnd(answer, later), at + MINUTE, NOTIFYING);
      const other = apply(record, anAttachment(OTHER_JOB), at, NOTIFYING);
      expect(other).toMatchObject({ notices, tracking: { told: [kind] } });
    },
  );

  it.each([
    [
      "its answers became unintelligible less than an hour ago",
      answered("unclear"),
      UNCLEAR,
      HOUR - 1,
    ],
    ["its previous answer was understood", answered("processing"), UNCLEAR, 2 * HOUR],
    [
      "only one poll has found success without output",
      answered("processing"),
      newsAnswer(NO_OUTPUT),
      MINUTE,
    ],
    [
      "it reports progress after success without output",
      answered("no_output"),
      newsAnswer(PROCESSING),
      MINUTE,
    ],
  ] as const)(
    "the operator is sent no event about a task's upstream when %s",
    (_what, task, answer, afterMs) => {
      const event = aPollEnd(answer, { askedAt: since + afterMs });
      const decision = transition(task, event, NOTIFYING, since + afterMs);
      expect("record" in decision && decision.record).toMatchObject({ notices: [] });
    },
  );

  it("no event about an upstream whose answers are not understood is stored when the operator has configured no URL for events", () => {
    const at = since + HOUR;
    expectUnchanged(answered("unclear"), aPollEnd(UNCLEAR, { askedAt: at }), at, POLICY);
  });

  it("an operator event about an open task is sent at once, and stays stored until the operator accepts it, even after the task has ended", () => {
    const at = since + HOUR;
    const record = polled(answered("unclear"), UNCLEAR, at);
    const policy = { ...NOTIFYING, polledAt: at };
    expect(nextStep(record, policy, at)).toMatchObject({
      kind: "sendNotice",
      notice: { kind: "upstream.unclear", version: at, details: unclear },
    });
    const ended = { type: "notice_ended", kind: "upstream.unclear", version: at } as const;
    const taken = apply(record, { ...ended, isTaken: true }, at, policy);
    expect(taken).toMatchObject({ status: "pending", notices: [] });
    expect(wakeAt(taken, policy)).toBeGreaterThan(at);
    const end = aPollEnd(newsAnswer(aCompletion()));
    expect(finish(record, end, at, policy).notices).toHaveLength(1);
  });
});
