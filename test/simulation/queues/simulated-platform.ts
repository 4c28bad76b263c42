import type { Cancel } from "../../../src/core/duties/cancel-job.ts";
import type { Charge } from "../../../src/core/duties/charge.ts";
import type { Poll } from "../../../src/core/duties/poll.ts";
import type { QueueLeave } from "../../../src/core/duties/queue-leave.ts";
import type { Refund } from "../../../src/core/duties/refund.ts";
import type { CancelAnswer, ChargeAnswer, PollAnswer } from "../../../src/core/events/event.ts";
import type { TaskRecord } from "../../../src/core/record/task.ts";
import { SECOND_MS } from "../../../src/core/time.ts";
import { withinTime } from "../../../src/lib/timeout.ts";
import type { ObjectNamespaces } from "../../../src/objects/object-names.ts";
import type { Platform } from "../../../src/objects/task/platform.ts";
import type { QueuePosition } from "../../../src/core/record/queue-stay.ts";
import { leaveQueues, positionIn, tellKeptCall } from "../../../src/objects/task/queue-calls.ts";
import type { Simulated } from "./outside.ts";

interface Context {
  readonly storage: {
    readonly kv: {
      get(key: string): TaskRecord | undefined;
      put(key: string, value: TaskRecord): void;
    };
    setAlarm(at: number): Promise<void>;
    deleteAll(): Promise<void>;
    deleteAlarm(): Promise<void>;
  };
  waitUntil(work: Promise<unknown>): void;
}

const LEDGER_MS = 2 * SECOND_MS;
/** Key of the stored record of a task. */
export const RECORD_KEY = "task";

/**
 * Takes the place of `ObjectPlatform` (objects/task): the storage, the alarm and the calls of a task's object on the
 * simulated platform. What does not concern queues always works: callbacks, the index, the copies of outputs.
 */
export class ObjectPlatform implements Platform {
  readonly progress = { of: () => null, noteHook: () => {} };
  readonly #ctx: Context;
  readonly #env: ObjectNamespaces & Simulated;

  constructor(ctx: Context, env: ObjectNamespaces & Simulated) {
    this.#ctx = ctx;
    this.#env = env;
  }

  prepare(): void {}

  now(): number {
    return Date.now();
  }

  policy() {
    return this.#env.outside.policy;
  }

  load(): TaskRecord | null {
    return this.#ctx.storage.kv.get(RECORD_KEY) ?? null;
  }

  commit(record: TaskRecord, alarmAt: number | null): void {
    this.#ctx.storage.kv.put(RECORD_KEY, record);
    if (alarmAt !== null) this.setAlarm(alarmAt);
  }

  setAlarm(at: number): void {
    void this.#ctx.storage.setAlarm(at);
  }

  async recover(_: unknown, now: number): Promise<boolean> {
    await this.#ctx.storage.setAlarm(now + 60 * SECOND_MS);
    return true;
  }

  async erase(): Promise<void> {
    await this.#ctx.storage.deleteAlarm();
    await this.#ctx.storage.deleteAll();
  }

  readPauses(): null {
    return null;
  }

  async send(): Promise<never> {
    throw new Error("the simulated tasks have no callback");
  }

  async sendProgress(): Promise<never> {
    return this.send();
  }

  charge(charge: Charge): Promise<ChargeAnswer> {
    const { outside, party } = this.#env;
    return withinTime<ChargeAnswer>(
      () => outside.charge(party, charge),
      { kind: "unknown" },
      LEDGER_MS,
    );
  }

  refund(refund: Refund): Promise<boolean> {
    const { outside, party } = this.#env;
    return withinTime(() => outside.refund(party, refund), false, LEDGER_MS);
  }

  async release(): Promise<boolean> {
    return true;
  }

  poll(poll: Poll): Promise<PollAnswer> {
    const { outside, party } = this.#env;
    const unanswered = { kind: "unanswered" } as const;
    const ask = () => outside.poll(party, poll).catch(() => unanswered);
    return withinTime<PollAnswer>(ask, unanswered, 10 * SECOND_MS);
  }

  cancelJob(cancel: Cancel): Promise<CancelAnswer> {
    const { outside, party } = this.#env;
    const unanswered = { kind: "unanswered", statusCode: null } as const;
    const ask = () => outside.cancel(party, cancel).catch(() => unanswered);
    return withinTime<CancelAnswer>(ask, unanswered, 10 * SECOND_MS);
  }

  leaveQueues(leave: QueueLeave): Promise<boolean> {
    return leaveQueues(this.#env, leave, LEDGER_MS);
  }

  tellKeptCall(submissionId: string): void {
    this.background(tellKeptCall(this.#env, submissionId));
  }

  positionOf({ connections, submissionId }: QueueLeave): Promise<QueuePosition | null> {
    return positionIn(this.#env, connections, submissionId);
  }

  async writeIndexRow(): Promise<boolean> {
    return true;
  }

  async sendNotice(): Promise<boolean> {
    return true;
  }

  async orderCopies(): Promise<boolean> {
    return true;
  }

  async withHookHealth<Event>(event: Event): Promise<Event> {
    return event;
  }

  async nameJob(): Promise<void> {}
  async forgetJob(): Promise<void> {}
  async deleteOutputs(): Promise<void> {}
  async answersApplied(): Promise<void> {}
  startCopies(): void {}
  reportHook(): void {}
  reportRefusal(): void {}
  reportAccountFault(): void {}
  tellWatchers(): void {}
  log(): void {}

  background(work: Promise<unknown>): void {
    // A failure of background work is repeated by the next alarm, as on the real platform.
    this.#ctx.waitUntil(work.catch(() => undefined));
  }
}
