import { describe, expect, it } from "vitest";
import { forgetCustomerKey } from "../../src/core/duties/customer-key-drop.ts";
import { hookReportOf } from "../../src/core/events/hook-report.ts";
import type { Policy } from "../../src/core/policy.ts";
import { customerKeyNeededUntil } from "../../src/core/polls/customer-key-need.ts";
import { sealedKeyOf } from "../../src/core/record/customer-key.ts";
import { NOT_SERVED } from "../../src/core/record/refusal.ts";
import type { OpenTask, TaskRecord, TerminalTask } from "../../src/core/record/task.ts";
import type { UpstreamFailure } from "../../src/core/record/upstream.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import {
  aCompletion,
  aFinishedTask,
  anEndAs,
  anOpenTask,
  aPolicy,
  CONNECTION,
  DAY,
  HOUR,
  LIMITS,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import { apply, expectUnchanged, finish } from "./decisions.ts";
import {
  accepted,
  aCustomerKey,
  anAcceptance,
  anUnknownOutcome,
  aPricedSubmission,
  aRefusal,
  aSendingTask,
  aSubmission,
  aSubmissionHook,
  aSubmittedRegistration,
  NOT_SENT,
  SEALED_KEY,
  SENDING_ENDS_AT,
  withoutSecret,
} from "./submission-builders.ts";
import {
  anAttachedTask,
  anUpstreamFailure,
  aPollEnd,
  JOB,
  newsAnswer,
  QUEUED,
  UNAUTHORIZED,
  UPSTREAM,
} from "./upstream-builders.ts";

const LATER = NOW + MINUTE;
const DROPPED = { kind: "dropped" };
/** A relay whose connection has no key of its own, and a longer wait for hooks of customers. */
const KEYLESS = aPolicy({
  polls: new Map(),
  customerPolls: new Map([[CONNECTION, { ...LIMITS, hookWaitMs: 2 * MINUTE }]]),
});

/** Builds a task whose job was submitted with a customer's key and is attached. */
function aCustomerTask(changes: Partial<OpenTask> = {}): OpenTask {
  const submission = aSubmission({ state: accepted(), customerKey: aCustomerKey() });
  return anAttachedTask({}, { submission, ...changes });
}

/** Returns the task after the first poll whose key the upstream has refused. */
function refusedOnce(): TaskRecord {
  return apply(aCustomerTask(), aPollEnd(UNAUTHORIZED, { askedAt: LATER }), LATER);
}

/** Builds a submission whose customer's key was dropped. */
function withDroppedKey() {
  return aSubmission({ state: accepted(), customerKey: { kind: "dropped" } });
}

function messageOf({ body }: TerminalTask): string {
  return JSON.parse(body).error.message;
}

/** Returns the error message of a task after a poll that finds its job failed. */
function messageAfter(task: OpenTask, news: UpstreamFailure): string {
  return messageOf(finish(task, aPollEnd(newsAnswer(news), { askedAt: LATER }), LATER));
}

function keyIn({ submission }: TaskRecord) {
  return submission?.customerKey;
}

/** Returns the record after all steps that are due at a time and only apply events. */
function settledAt(record: TaskRecord, now: number, policy: Policy): TaskRecord {
  const step = nextStep(record, policy, now);
  return step?.kind === "event"
    ? settledAt(apply(record, step.event, now, policy), now, policy)
    : record;
}

describe("a task with a customer's key", () => {
  it("a task with a customer's key stores the key, encrypted, in its submission, and not in its registration", () => {
    const task = apply(null, aSubmittedRegistration({}, { customerKey: SEALED_KEY }));
    expect(keyIn(task)).toEqual({ ...SEALED_KEY, kind: "sealed", unreadableSince: null });
    expect(JSON.stringify(task.registration)).not.toContain(SEALED_KEY.ciphertext);
  });

  it("a task that has stored a customer's key before its price is charged still has the key when the price is charged", () => {
    const charging = apply(null, aPricedSubmission({ chargeId: "c" }, { customerKey: SEALED_KEY }));
    const answer = { kind: "charged", generation: 1 } as const;
    const task = apply(charging, { type: "charge_ended", chargeId: "c", answer });
    expect(sealedKeyOf(task)).toEqual(SEALED_KEY);
  });

  it("a task with a customer's API key is polled with this key although the connection has no API key; the first poll waits for a hook as long as is set for customers' API keys", () => {
    const sending = apply(
      null,
      aSubmittedRegistration({}, { customerKey: SEALED_KEY }),
      NOW,
      KEYLESS,
    );
    const task = apply(sending, anAcceptance({ isHookExpected: true }), NOW, KEYLESS);
    const wakesAt = wakeAt(task, KEYLESS);
    expect(wakesAt - NOW).toBeGreaterThan(1.9 * MINUTE);
    expect(nextStep(task, KEYLESS, wakesAt)).toMatchObject({
      kind: "poll",
      poll: { job: JOB, customerKey: SEALED_KEY },
    });
  });

  it("a task whose customer's API key was deleted is not polled with the connection's API key instead; a task that has never had a customer's API key is", () => {
    const step = nextStep(anAttachedTask(), POLICY, LATER);
    expect(step).toMatchObject({ kind: "poll", poll: { customerKey: null } });
    expect(nextStep(aCustomerTask({ submission: withDroppedKey() }), POLICY, LATER)).toBeNull();
  });

  it("the job of a task with a customer's key is canceled with this key although the connection has none", () => {
    const asked: unknown[] = [];
    const isCancelable = (job: object, hasCustomerKey: boolean) => {
      asked.push([job, hasCustomerKey]);
      return hasCustomerKey;
    };
    const policy = aPolicy({ polls: new Map(), isCancelable });
    const task = apply(aCustomerTask(), { type: "cancel", isForced: false }, LATER, policy);
    expect(asked).toEqual([[UPSTREAM, true]]);
    expect(nextStep(task, policy, LATER)).toMatchObject({
      kind: "cancelJob",
      cancel: { job: JOB, customerKey: SEALED_KEY },
    });
  });

  it.each([
    ["no relay secret decrypts its customer's API key", aCustomerTask(), withoutSecret()],
    ["its customer's API key was deleted", aCustomerTask({ submission: withDroppedKey() }), POLICY],
  ])(
    "an order to cancel fails a task at once when %s, because the relay cannot ask the upstream without the key",
    (_when, task, settings) => {
      const policy = { ...settings, isCancelable: () => true };
      expect(apply(task, { type: "cancel", isForced: false }, LATER, policy)).toMatchObject({
        status: "failed",
        cancellation: { state: { kind: "not_sent" } },
      });
    },
  );

  it("when a submission has an unknown outcome and a hook has stated a job id, the relay polls this job with the customer's API key of the task", () => {
    const policy = aPolicy({
      customerPolls: new Map([[CONNECTION, { ...LIMITS, isTaskNamed: true }]]),
    });
    const sending = apply(null, aSubmittedRegistration({}, { customerKey: SEALED_KEY }));
    const named = apply(sending, aSubmissionHook(PROCESSING), LATER, policy);
    const task = apply(named, anUnknownOutcome(), SENDING_ENDS_AT, policy);
    expect(nextStep(task, policy, SENDING_ENDS_AT)).toMatchObject({
      poll: { purpose: "kept_job", customerKey: SEALED_KEY },
    });
  });

  it("a signed hook does not end a task with a customer's API key, but only causes a poll, as an unsigned hook does", () => {
    const hook = aSubmissionHook(aCompletion(), { isSigned: true });
    const task = apply(aCustomerTask(), hook, LATER);
    expect(task.status).toBe("pending");
    expect(nextStep(task, POLICY, LATER)).toMatchObject({ kind: "poll", poll: { isUrgent: true } });
  });

  it("a signed hook attaches no job to a task with a customer's API key", () => {
    const sending = apply(null, aSubmittedRegistration({}, { customerKey: SEALED_KEY }));
    const task = apply(sending, aSubmissionHook(PROCESSING, { isSigned: true }), LATER);
    expect(task.upstream?.job).toBeNull();
  });

  it("a task with a customer's key does not report to its connection whether expected hooks arrive, neither when a poll ends the task nor when a hook does", () => {
    const before = anAttachedTask({ hookWaitMs: 0 }, { submission: aCustomerTask().submission });
    const end = aPollEnd(newsAnswer(aCompletion()));
    expect(hookReportOf(before, end, apply(before, end, LATER))).toBeNull();
    const own = anAttachedTask({ hookWaitMs: 0 });
    expect(hookReportOf(own, end, apply(own, end, LATER))).not.toBeNull();
    const lost = withoutSecret();
    const hook = aSubmissionHook(aCompletion());
    expect(hookReportOf(before, hook, apply(before, hook, LATER, lost))).toBeNull();
  });
});

describe("the sealed key of a customer in a task", () => {
  it("a task deletes its encrypted customer's key once it has ended and its callback, if it has one, is delivered", () => {
    const ended = apply(aCustomerTask(), aPollEnd(newsAnswer(aCompletion())), LATER);
    expect(sealedKeyOf(ended)).toEqual(SEALED_KEY);
    expect(keyIn(apply(ended, anEndAs(1, "delivered"), LATER + SECOND))).toEqual(DROPPED);
    const silent = aCustomerTask({ callbackUrl: null });
    expect(keyIn(apply(silent, aPollEnd(newsAnswer(aCompletion())), LATER))).toEqual(DROPPED);
    expect(keyIn(apply(silent, { type: "cancel", isForced: false }, LATER))).toEqual(DROPPED);
  });

  it("no time is planned for the deletion of a customer's API key while the callback of its ended task is being sent", () => {
    const ended = apply(aCustomerTask(), aPollEnd(newsAnswer(aCompletion())), LATER);
    expect(forgetCustomerKey(ended, POLICY)).toBeNull();
  });

  it("a task needs the key of its customer while it is open and until its callback is delivered, and no more after that if its job is not polled any more", () => {
    const ended = finish(aCustomerTask(), aPollEnd(newsAnswer(aCompletion())), LATER);
    const settled = finish(ended, anEndAs(1, "delivered"), LATER + SECOND);
    const times = [aCustomerTask(), ended, settled].map((task) =>
      customerKeyNeededUntil(task, POLICY),
    );
    expect(times).toEqual([Infinity, Infinity, -Infinity]);
  });

  it("a task that has ended is not woken when the relay loses the secret that decrypts its customer's API key, while an open task is", () => {
    const open = aCustomerTask();
    expect(wakeAt(open, withoutSecret())).toBeLessThan(wakeAt(open, POLICY));
    const ended = apply(open, aPollEnd(newsAnswer(aCompletion())), LATER);
    expect(wakeAt(ended, withoutSecret())).toBe(wakeAt(ended, POLICY));
    expect(nextStep(ended, withoutSecret(), LATER)).toBeNull();
  });

  it("after a task has failed at its deadline, it stores its customer's API key until an hour after the job's last poll, which comes a day after the deadline", () => {
    const task = aCustomerTask({ callbackUrl: null });
    const endedAt = task.deadlineAt;
    const failed = finish(task, { type: "deadline" }, endedAt);
    const times: number[] = [];
    let policy = { ...POLICY, polledAt: endedAt };
    for (;;) {
      const at = wakeAt(failed, policy);
      const step = nextStep(failed, policy, at);
      if (step?.kind !== "poll") break;
      expect(step.poll).toMatchObject({ purpose: "late_result", customerKey: SEALED_KEY });
      times.push(at - endedAt);
      policy = { ...policy, polledAt: at };
    }
    expect(times).toEqual([HOUR, DAY]);
    const at = endedAt + DAY + HOUR;
    expect(wakeAt(failed, policy)).toBe(at);
    expect(settledAt(failed, at - 1, policy)).toBe(failed);
    const dropped = settledAt(failed, at, policy);
    expect([keyIn(dropped), dropped.version]).toEqual([DROPPED, failed.version]);
    expect(wakeAt(dropped, policy)).toBe(failed.expiresAt);
  });

  it("a task that has failed at its deadline deletes its encrypted customer's API key when a later poll finds that the job has succeeded", () => {
    const task = aCustomerTask({ callbackUrl: null });
    const failed = finish(task, { type: "deadline" }, task.deadlineAt);
    const end = aPollEnd(newsAnswer(aCompletion()), { purpose: "late_result" });
    expect(keyIn(apply(failed, end, task.deadlineAt + HOUR))).toEqual(DROPPED);
  });

  it("when the relay gives up a submission before sending it, while its price is being charged, the task deletes its encrypted customer's API key", () => {
    const charging = apply(null, aPricedSubmission({ chargeId: "c" }, { customerKey: SEALED_KEY }));
    const unsent = apply(charging, NOT_SENT, LATER);
    expect([unsent.status, keyIn(unsent)]).toEqual(["charging", DROPPED]);
  });

  it.each([
    ["was erased", null],
    ["has no submission", anOpenTask()],
    ["has no customer's key", anAttachedTask({}, { submission: aSubmission() })],
    ["has deleted its key", aCustomerTask({ submission: withDroppedKey() })],
    ["can still be polled with its key", aCustomerTask()],
    ["has ended without a customer's key", aFinishedTask()],
  ])(
    "the relay's check whether it can still decrypt a task's customer's API key changes nothing of the task when the task %s",
    (_, record) => {
      const policy = aPolicy({ isOperatorNotified: true });
      expectUnchanged(record, { type: "customer_key_checked" }, LATER, policy);
    },
  );

  it.each([
    ["is refused by the upstream", aRefusal()],
    ["is not sent to the upstream", NOT_SENT],
  ])(
    "when a submission with a price %s, the task deletes its encrypted customer's API key already while the price is being returned to the account",
    (_, outcome) => {
      const charging = apply(
        null,
        aPricedSubmission({ chargeId: "c" }, { customerKey: SEALED_KEY }),
      );
      const answer = { kind: "charged", generation: 1 } as const;
      const task = apply(charging, { type: "charge_ended", chargeId: "c", answer });
      const returning = apply(task, outcome, LATER);
      expect([returning.status, keyIn(returning)]).toEqual(["charging", DROPPED]);
    },
  );
});

describe("a customer's key that cannot be opened because its relay secret was removed", () => {
  const lost = withoutSecret(aPolicy({ isOperatorNotified: true }));

  /** Returns the task after the relay has found that it cannot open the key. */
  function reported(): TaskRecord {
    return settledAt(aCustomerTask(), LATER, lost);
  }

  it("when no relay secret decrypts a customer's key any more, the task sends the operator one event, stores the time, and does not poll the job any more", () => {
    const told = reported();
    expect(keyIn(told)).toEqual(aCustomerKey(LATER));
    expect("notices" in told && told.notices).toMatchObject([{ kind: "key.unreadable" }]);
    const step = nextStep(told, lost, LATER);
    expect(step).toMatchObject({ kind: "sendNotice" });
    expect(settledAt(told, LATER + HOUR, lost)).toBe(told);
  });

  it("when the operator receives no events about unreadable keys, a task still stores since when no relay secret decrypts its customer's API key", () => {
    const silent = settledAt(aCustomerTask(), LATER, withoutSecret());
    expect([keyIn(silent), "notices" in silent && silent.notices]).toEqual([
      aCustomerKey(LATER),
      [],
    ]);
    expect(nextStep(silent, withoutSecret(), LATER)).toBeNull();
    const unwanted = { ...lost, unwantedNotices: new Set(["key.unreadable"] as const) };
    expect(settledAt(aCustomerTask(), LATER, unwanted)).toEqual(silent);
  });

  it("a task whose customer's key no relay secret decrypts stays open, and a hook that reports the job's success completes it", () => {
    const ended = finish(reported(), aSubmissionHook(aCompletion()), LATER + SECOND, lost);
    expect(ended.status).toBe("completed");
  });

  it("a task whose customer's key no relay secret decrypts fails at its deadline without a last poll", () => {
    const silent = withoutSecret();
    const task = settledAt(aCustomerTask(), LATER, silent);
    const step = nextStep(task, silent, aCustomerTask().deadlineAt);
    expect(step).toEqual({ kind: "event", event: { type: "deadline" } });
  });

  it("when the operator restores the relay secret that decrypts a customer's API key, the relay polls with the key again, and the task no longer says that the key is unreadable", () => {
    const told = reported();
    const back = settledAt(told, LATER + HOUR, POLICY);
    expect(keyIn(back)).toEqual(aCustomerKey());
    expect(back.version).toBeGreaterThan(told.version);
    expect(nextStep(back, POLICY, LATER + HOUR)).toMatchObject({ kind: "poll" });
  });

  it("when a task without a callback URL fails at its deadline and no relay secret decrypts its customer's API key, the task deletes the key at once", () => {
    const task = aCustomerTask({ callbackUrl: null });
    const failed = finish(
      settledAt(task, LATER, lost),
      { type: "deadline" },
      task.deadlineAt,
      lost,
    );
    expect(keyIn(failed)).toEqual(DROPPED);
  });
});

describe("a customer's key that the upstream refuses", () => {
  it("when the upstream refuses a customer's key at a poll, the task stays open and is polled with this key again; only the first refusal gives the task a new version", () => {
    const refused = refusedOnce();
    expect(refused).toMatchObject({
      status: "pending",
      tracking: { poll: { answer: { kind: "unauthorized" } } },
    });
    expect(refused.version).toBe(LATER);
    expectUnchanged(refused, aPollEnd(UNAUTHORIZED, { askedAt: LATER + MINUTE }), LATER + MINUTE);
    const policy = { ...POLICY, polledAt: LATER };
    expect(nextStep(refused, policy, LATER + HOUR)).toMatchObject({ kind: "poll" });
  });

  it("a task's view for operator and account states since when the upstream has refused the customer's API key, until a later poll gets an answer with the job's status", () => {
    const refused = refusedOnce();
    const seconds = Math.floor(LATER / 1000);
    for (const reader of ["operator", "account"] as const) {
      expect(JSON.parse(taskView(refused, reader))).toMatchObject({
        submission: { key: "customer", key_refused_since: seconds },
      });
    }
    const answer = newsAnswer(PROCESSING);
    const going = apply(refused, aPollEnd(answer, { askedAt: LATER + MINUTE }), LATER + MINUTE);
    expect(JSON.parse(taskView(going, "account")).submission).not.toHaveProperty(
      "key_refused_since",
    );
  });

  it("when the upstream has refused a customer's key, the next answer with the job's status gives the task a new version; the same answer without a refusal before does not", () => {
    const [refused, task] = [refusedOnce(), aCustomerTask()];
    const queued = aPollEnd(newsAnswer(QUEUED), { askedAt: LATER + MINUTE });
    const going = apply(refused, queued, LATER + MINUTE);
    expect([going.status, going.version]).toEqual(["pending", LATER + MINUTE]);
    expect(apply(task, queued, LATER + MINUTE).version).toBe(task.version);
  });

  const NOT_STARTED = / Nothing was started\.$/;

  it.each([
    ["key", 401, /^The upstream has refused the API key/],
    ["funds", 402, /^The upstream has refused the balance of the account whose API key/],
  ] as const)(
    "the error message of a task whose call is refused because of its %s states this reason if the call came with a customer's own key, and does not if it came with the key of the connection",
    (refusal, statusCode, reason) => {
      const [own, of] = [aCustomerKey(), aSubmission({ isCall: true })];
      const failed = finish(
        aSendingTask({ submission: { ...of, customerKey: own } }),
        aRefusal(statusCode, refusal),
      );
      expect(messageOf(failed)).toMatch(reason);
      expect(messageOf(failed)).toMatch(NOT_STARTED);
      const ofOperator = finish(aSendingTask({ submission: of }), aRefusal(statusCode, refusal));
      expect(messageOf(ofOperator)).toBe(NOT_SERVED);
    },
  );

  it("the error message of a task states that a job has failed because of the balance behind a customer's own key; for the connection's key, and for any other failure, it is the upstream's text", () => {
    const unpaid = anUpstreamFailure({ error: { code: "upstream_funds", message: "No jobs." } });
    expect(messageAfter(aCustomerTask(), unpaid)).toMatch(/^The upstream has refused the balance/);
    expect(messageAfter(anAttachedTask(), unpaid)).toBe("No jobs.");
    expect(messageAfter(aCustomerTask(), anUpstreamFailure())).toBe("The output was refused.");
  });

  it("when the upstream refuses the connection's own API key at a poll, the task gets no new version, because accounts do not see such a refusal", () => {
    const own = apply(anAttachedTask(), aPollEnd(UNAUTHORIZED, { askedAt: LATER }), LATER);
    expect(own.version).toBe(NOW);
  });
});

it.each(["operator", "account", "link"] as const)(
  "the view of a task for a reader of the type %s contains no part of the encrypted customer's API key, and neither does the task's row in the index",
  (reader) => {
    const task = settledAt(aCustomerTask(), LATER, withoutSecret());
    if (task.status === "charging") throw new Error("hidden");
    const shown = JSON.stringify([
      taskView(task, reader, null, POLICY),
      taskView(task, reader),
      rowOf(task, POLICY),
    ]);
    for (const part of Object.values(SEALED_KEY)) expect(shown).not.toContain(part);
  },
);

it("the operator's view of a task states since when the relay cannot decrypt the customer's API key; the account's view does not", () => {
  const task = settledAt(aCustomerTask(), LATER, withoutSecret());
  const since = { tracking: { key_unreadable_since: Math.floor(LATER / 1000) } };
  expect(JSON.parse(taskView(task, "operator"))).toMatchObject(since);
  expect(taskView(task, "account")).not.toContain("unreadable");
});

it("the operator's view of a task that the relay has not submitted does not mention a customer's API key", () => {
  expect(taskView(anOpenTask(), "operator")).not.toContain("key");
});
