import { describe, expect, it } from "vitest";
import type { QueueLeave } from "../../../src/core/duties/queue-leave.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import type { AttachedJob } from "../../../src/core/record/upstream.ts";
import { aCompletion, aPolicy, HOUR, ID, SECOND } from "../builders.ts";
import {
  anAcceptance,
  anAttemptStart,
  anUnknownOutcome,
  aPricedSubmission,
  aRefusal,
  aResultAtOnce,
  aSubmittedRegistration,
  MEMBER_A,
  MEMBER_B,
  POOL,
  SUBMISSION_ID,
} from "../submission-builders.ts";
import { JOB } from "../upstream-builders.ts";
import { MemoryHost } from "./memory-host.ts";

const QUEUES = { queues: [MEMBER_A, MEMBER_B] };
const CALL = { isCall: true, isHookless: true, ...QUEUES } as const;
const HELD = { ...QUEUES, place: MEMBER_A };
const LEAVE: QueueLeave = {
  taskId: ID,
  submissionId: SUBMISSION_ID,
  connections: [MEMBER_A, MEMBER_B],
  ranAt: MEMBER_A,
};
/** The order of a submission that was never accepted. */
const LEAVE_UNUSED: QueueLeave = { ...LEAVE, ranAt: null };
const PLAIN = { provider: POOL, callbackUrl: null };
const RESULT = aResultAtOnce(aCompletion());
/** Answers to an order to leave queues, as the simulated queues know them. */
const [LEFT, LOST] = [0, 2];

/** Memory host that records the orders to leave queues. */
class QueueHost extends MemoryHost {
  readonly leaves: QueueLeave[] = [];

  constructor(ending: number | null = LEFT) {
    super();
    this.answerLeaves(ending);
    const { leaveQueues } = this.outside;
    Object.assign(this.outside, {
      leaveQueues: (...given: Parameters<typeof leaveQueues>) => {
        this.leaves.push(given[0]);
        return leaveQueues(...given);
      },
    });
  }

  /** Sets the answer to all further orders; null leaves them open. */
  answerLeaves(ending: number | null): void {
    const { leaveQueues: _, ...endings } = this.endings;
    this.endings = ending === null ? endings : { ...endings, leaveQueues: ending };
  }

  get hasStay(): boolean {
    return this.stored?.submission?.stay !== undefined;
  }
}

async function endedCall(host: QueueHost): Promise<void> {
  await host.loop.applyAndErase(aSubmittedRegistration(PLAIN, CALL));
  await host.loop.applyAndErase(anAttemptStart());
  await host.loop.applyAndErase(RESULT);
  await runMicrotasks();
}

describe("a submission whose task ends", () => {
  it("leaves its queues beside the commit that ends the task, once when they confirm", async () => {
    const host = new QueueHost();
    await endedCall(host);
    expect(host.leaves).toEqual([LEAVE]);
    expect(host.hasStay).toBe(false);
    while (host.stored !== null) await host.ring();
    expect(host.leaves).toEqual([LEAVE]);
    host.expectNoFailure();
  });

  it("leaves its queues again until they confirm, before its task is erased", async () => {
    const host = new QueueHost(LOST);
    host.policyAt = () => aPolicy({ retentionMs: HOUR });
    await endedCall(host);
    expect(host.hasStay).toBe(true);
    const endedAt = host.clock;
    await host.ring();
    expect(host.clock).toBe(endedAt + 5 * SECOND);
    while (host.clock < endedAt + 2 * HOUR) await host.ring();
    expect(host.stored).not.toBeNull();
    host.answerLeaves(LEFT);
    while (host.stored !== null) await host.ring();
    host.expectNoFailure();
  });

  it("leaves its queues after a crash that has lost the first order", async () => {
    const host = new QueueHost(null);
    await endedCall(host);
    host.crash();
    host.answerLeaves(LEFT);
    await host.ring();
    expect(host.leaves).toEqual([LEAVE, LEAVE]);
    expect(host.hasStay).toBe(false);
    host.expectNoFailure();
  });

  it("does not delay the first attempt of the callback while the queues do not answer", async () => {
    const host = new QueueHost(null);
    await host.loop.applyAndErase(aSubmittedRegistration({ provider: POOL }, CALL));
    await host.loop.applyAndErase(anAttemptStart());
    await host.loop.applyAndErase(RESULT);
    await host.answer("delivered");
    expect(host.leaves).toEqual([LEAVE]);
    expect(host.numbers).toEqual([1]);
    host.expectNoFailure();
  });
});

describe("the erasure of a task whose submission is in queues", () => {
  it("also forgets a job that is named while the queues are being left", async () => {
    const host = new QueueHost(LOST);
    const forgotten: AttachedJob[] = [];
    Object.assign(host, { jobForgotten: (job: AttachedJob) => forgotten.push(job) });
    await host.loop.applyAndErase(aSubmittedRegistration(PLAIN, CALL));
    await host.loop.applyAndErase(anAttemptStart());
    await host.loop.applyAndErase(anUnknownOutcome());
    while (host.stored?.status !== "failed") await host.ring();
    const leaveQueues = async () => {
      host.loop.apply(anAcceptance());
      return true;
    };
    Object.assign(host.outside, { leaveQueues });
    await host.loop.applyAndErase({ type: "erase" });
    expect(host.stored).toBeNull();
    expect(forgotten).toEqual([{ connection: POOL, job: JOB }]);
    host.expectNoFailure();
  });

  it("is refused while the queues do not confirm that the submission has left them", async () => {
    const host = new QueueHost(LOST);
    await endedCall(host);
    await expect(host.loop.applyAndErase({ type: "erase" })).rejects.toThrow("queues");
    expect(host.stored).not.toBeNull();
    host.answerLeaves(LEFT);
    expect((await host.loop.applyAndErase({ type: "erase" })).kind).toBe("erase");
    expect(host.stored).toBeNull();
    host.expectNoFailure();
  });

  it.each([
    ["leaves them first", LEFT],
    ["is made although they do not confirm, because the client waits for it", LOST],
  ])("after a refusal whose client waits %s", async (_what, ending) => {
    const host = new QueueHost(ending);
    await host.loop.applyAndErase(aSubmittedRegistration(PLAIN, HELD));
    expect((await host.loop.applyAndErase(aRefusal())).kind).toBe("erase");
    expect(host.leaves).toEqual([LEAVE_UNUSED]);
    expect(host.stored).toBeNull();
    host.expectNoFailure();
  });

  it("after a refusal with a price, they are left before the refund and need not be left again", async () => {
    const host = new QueueHost();
    await host.loop.applyAndErase(aPricedSubmission({ provider: POOL }, HELD));
    await host.loop.runUntilIdle();
    await host.loop.applyAndErase(aRefusal());
    await host.loop.runUntilIdle();
    expect(host.leaves).toEqual([LEAVE_UNUSED]);
    expect(host.stored).toBeNull();
    host.expectNoFailure();
  });
});

it("a task without queues orders none to be left", async () => {
  const host = new QueueHost();
  await host.loop.applyAndErase(aSubmittedRegistration({ callbackUrl: null }));
  await host.loop.applyAndErase(RESULT);
  while (host.stored !== null) await host.ring();
  expect(host.leaves).toEqual([]);
});

it("the answer of the queues does not break off a write to the index that is in flight", async () => {
  const host = new QueueHost(null);
  host.policyAt = () => aPolicy({ isIndexed: true });
  const { writeIndexRow: _, ...endings } = host.endings;
  host.endings = endings;
  await endedCall(host);
  void host.ring();
  await runMicrotasks();
  const open = () => host.outside.openCalls.map(({ what }) => what);
  expect(open().toSorted()).toEqual(["leaveQueues", "writeIndexRow"]);
  host.outside.openCalls.find(({ what }) => what === "leaveQueues")?.end(LEFT);
  await runMicrotasks();
  expect([open(), host.hasStay]).toEqual([["writeIndexRow"], false]);
  host.outside.openCalls[0]?.end(0);
  await runMicrotasks();
  expect(host.logs.at(-1)).toMatchObject({ event: "index.write", outcome: "written" });
  host.expectNoFailure();
});
