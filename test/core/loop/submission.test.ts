import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SubmitEndedEvent } from "../../../src/core/events/event.ts";
import { errorCodeOf } from "../../../src/core/record/callback-body.ts";
import { isTerminal } from "../../../src/core/record/task.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { Death } from "../../simulation/simulated-object.ts";
import { aCompletion, aRegistration, NOW, SECOND } from "../builders.ts";
import { CHARGE_ID, PRICE } from "../credit-builders.ts";
import {
  anAcceptance,
  anUnknownOutcome,
  aPricedSubmission,
  aRefusal,
  aResultAtOnce,
  aSubmissionHook,
  aSubmittedRegistration,
  FAILS_AT,
  NOT_SENT,
  SENDING_ENDS_AT,
  STATING,
} from "../submission-builders.ts";
import { anUpstreamFailure, newsAnswer, UNANSWERED, UPSTREAM } from "../upstream-builders.ts";
import { MemoryHost } from "./memory-host.ts";

const MAX_ALARMS = 40;
const LEDGER = { charges: 1, refunds: 1 };

/** Memory host whose first instance dies at the point with this number; null for none. */
class DyingHost extends MemoryHost {
  #dyingIn: number | null;

  constructor(dyingIn: number | null) {
    super();
    this.#dyingIn = dyingIn;
    this.endings = { ...this.endings, send: 0 };
    this.policyAt = () => STATING;
  }

  /** States that the instance has died. */
  get hasDied(): boolean {
    return this.#dyingIn === 0;
  }

  override isDying(): boolean {
    if (this.#dyingIn === null || this.#dyingIn === 0) return false;
    return --this.#dyingIn === 0;
  }
}

interface Ending {
  readonly event: SubmitEndedEvent;
  /** End of the task when the object does not crash: its error code, `completed`, or null when it is erased. */
  readonly end: string | null;
}

const ENDINGS: readonly (readonly [string, Ending])[] = [
  ["accepted", { event: anAcceptance(), end: "completed" }],
  ["answered with its result", { event: aResultAtOnce(aCompletion()), end: "completed" }],
  [
    "answered with its failure",
    { event: aResultAtOnce(anUpstreamFailure()), end: "upstream_error" },
  ],
  ["refused", { event: aRefusal(), end: null }],
  ["not sent", { event: NOT_SENT, end: null }],
  ["of unknown outcome", { event: anUnknownOutcome(), end: "submit_unknown" }],
];

/** Calls a function of the object. @returns false when the object dies meanwhile. */
async function survives(host: MemoryHost, act: () => unknown): Promise<boolean> {
  try {
    await act();
    await host.loop.runUntilIdle();
    return true;
  } catch (error) {
    if (error instanceof Death) return false;
    throw error;
  }
}

/** Rings the alarms of the task, each of which answers a poll, until the task is erased. */
async function liveOn(host: MemoryHost): Promise<void> {
  for (let alarms = 0; host.stored !== null; alarms++) {
    expect(alarms).toBeLessThan(MAX_ALARMS);
    expect(host.alarm).not.toBeNull();
    const rung = host.ring().catch((error: unknown) => {
      if (!(error instanceof Death)) throw error;
      host.restart();
    });
    await host.answerPoll(newsAnswer(aCompletion()));
    await rung;
  }
}

/** Runs the life of a submission with a price, in which the object dies at one point and starts again. */
async function live(host: DyingHost, { event }: Ending, isRepeated: boolean): Promise<boolean> {
  let isSent = false;
  const register = () => host.loop.applyAndErase(aPricedSubmission());
  const hasSurvived = await survives(host, register);
  if (hasSurvived && host.stored?.status === "pending") {
    isSent = true;
    const end = () => host.loop.applyAndErase(event);
    if (!(await survives(host, end))) {
      host.restart();
      if (isRepeated) await survives(host, end);
    }
  } else if (!hasSurvived) host.restart();
  await liveOn(host);
  return isSent;
}

/** Returns how the task ended: `completed`, its error code, or null when it was erased without an end. */
function endOf({ history }: MemoryHost): string | null {
  const ended = history.find(isTerminal);
  if (ended === undefined) return null;
  return ended.status === "completed" ? "completed" : errorCodeOf(ended.body);
}

function booked({ ledger }: MemoryHost) {
  return {
    charges: ledger.count("charge", CHARGE_ID),
    refunds: ledger.count("refund", CHARGE_ID),
  };
}

describe.each(ENDINGS)("a submission with a price, which is %s", (_what, ending) => {
  it("without a crash, a task that is submitted with a price ends as the upstream has answered; the price is charged once and returned at most once", async () => {
    const host = new DyingHost(null);
    expect(await live(host, ending, false)).toBe(true);
    expect(endOf(host)).toBe(ending.end);
    expect(booked(host)).toEqual({ ...LEDGER, refunds: ending.end === "completed" ? 0 : 1 });
    host.expectNoFailure();
  });

  it.each([
    ["repeats", true],
    ["does not repeat", false],
  ])(
    "a crash at any point of a submission with a price neither loses the price nor charges it twice when the caller %s its call",
    async (_, isRepeated) => {
      let crashes = 0;
      for (let point = 1; ; point++) {
        const host = new DyingHost(point);
        const isSent = await live(host, ending, isRepeated);
        if (!host.hasDied) break;
        crashes++;
        const end = endOf(host);
        const { charges, refunds } = booked(host);
        expect(charges).toBe(host.history.length === 0 ? 0 : 1);
        expect(refunds).toBe(end === "completed" ? 0 : charges);
        expect(host.ledger.balance).toBe(1_000 - (end === "completed" ? PRICE : 0));
        const ends = isSent && isRepeated ? [ending.end] : [ending.end, "submit_unknown", null];
        expect(ends).toContain(end);
        host.expectNoFailure();
      }
      expect(crashes).toBeGreaterThan(10);
    },
  );
});

describe("a submission in the work loop", () => {
  let host: MemoryHost;

  beforeEach(() => {
    host = new MemoryHost();
    host.policyAt = () => STATING;
  });

  afterEach(() => host.expectNoFailure());

  it("a submission without a price costs one storage write of the record and one of the alarm, and both once more when the upstream accepts it", () => {
    host.loop.apply(aSubmittedRegistration());
    expect(host.writes).toEqual(["put", "alarm"]);
    expect(host.alarm).toBe(SENDING_ENDS_AT);
    host.loop.apply(anAcceptance());
    expect(host.writes).toEqual(["put", "alarm", "put", "alarm"]);
    expect(host.stored).toMatchObject({ upstream: UPSTREAM });
  });

  it("when the upstream's answer to a submission never reaches the task, the task's alarms make the outcome unknown and later fail the task", async () => {
    host.loop.apply(aSubmittedRegistration({ callbackUrl: null }));
    host.crash();
    await host.ring();
    expect(host.stored?.submission?.state.kind).toBe("unknown");
    expect(host.alarm).toBe(SENDING_ENDS_AT + STATING.submitUnknownMs);
    await host.ring();
    expect(host.stored).toMatchObject({ status: "failed" });
  });

  it("a hook about a submission of unknown outcome makes the relay poll the job at once and, when this confirms nothing, again 5 s later, even after a crash of the task's object", async () => {
    host.loop.apply(aSubmittedRegistration());
    host.loop.apply(anUnknownOutcome());
    host.loop.apply(aSubmissionHook(aCompletion()));
    await host.answerPoll(UNANSWERED);
    expect(host.polls).toMatchObject([{ purpose: "kept_job" }]);
    expect(host.alarm).toBe(NOW + 5 * SECOND);
    host.crash();
    const rung = host.ring();
    await host.answerPoll(newsAnswer(aCompletion()));
    await host.answer("delivered");
    await rung;
    expect(host.polls).toHaveLength(2);
    expect(host.stored).toMatchObject({ status: "completed", upstream: UPSTREAM });
  });

  it("after a crash during a poll sent to confirm a job id that only a hook has stated, the poll is repeated; if none is ever answered, the task fails at the planned time", async () => {
    host.loop.apply(aSubmittedRegistration({ callbackUrl: null }));
    host.loop.apply(anUnknownOutcome());
    host.loop.apply(aSubmissionHook(aCompletion()));
    await runMicrotasks();
    host.crash();
    let alarms = 0;
    while (host.stored?.status === "pending" && alarms++ < MAX_ALARMS) {
      const rung = host.ring();
      await host.answerPoll(UNANSWERED);
      await rung;
    }
    expect(host.polls.length).toBeGreaterThan(10);
    expect([host.stored?.status, host.clock]).toEqual(["failed", FAILS_AT]);
  });

  it("when a task is erased during a poll and its id is used again, the answer to this poll attaches no job to the new task", async () => {
    host.loop.apply(aSubmittedRegistration({ callbackUrl: null }));
    host.loop.apply(anUnknownOutcome());
    host.loop.apply(aSubmissionHook(aCompletion()));
    await runMicrotasks();
    host.loop.apply({ type: "cancel", isForced: false });
    await host.loop.applyAndErase({ type: "erase" });
    host.loop.apply(aSubmittedRegistration({}, { id: "later" }));
    const { stored } = host;
    await host.answerPoll(newsAnswer(aCompletion()));
    expect(host.stored).toEqual(stored);
    expect(stored?.submission).toMatchObject({ id: "later", state: { kind: "sending" } });
  });

  it("when a task's id is used again while the ledger still refunds the earlier task, the ledger's answer does not count for the new task", async () => {
    host.endings = { charge: 0 };
    host.loop.apply(aPricedSubmission());
    await host.loop.runUntilIdle();
    host.loop.apply(aRefusal());
    await runMicrotasks();
    const [first] = host.outside.openCalls;
    host.restart();
    const rung = host.ring();
    await runMicrotasks();
    host.end("refund");
    await rung;
    expect(host.stored).toBeNull();
    host.loop.apply(aPricedSubmission({ chargeId: "charge-2" }, { id: "later" }));
    await host.loop.runUntilIdle();
    host.loop.apply({ ...aRefusal(), submissionId: "later" });
    await runMicrotasks();
    first?.end(0);
    await runMicrotasks();
    expect(host.stored).toMatchObject({ status: "charging", submission: { id: "later" } });
    host.end("refund");
    await runMicrotasks();
    expect([host.stored, host.ledger.count("refund", "charge-2")]).toEqual([null, 1]);
  });

  it("after a submission was refused, a task that the client submits itself can be registered under the same id", async () => {
    host.loop.apply(aSubmittedRegistration());
    await host.loop.applyAndErase(aRefusal());
    expect([host.stored, host.alarm]).toEqual([null, null]);
    expect(host.loop.apply(aRegistration())).toMatchObject({ kind: "changed" });
  });
});
