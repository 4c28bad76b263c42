import { hasFailedAt } from "../../../src/core/record/failed-job.ts";
import { isAboutAccount } from "../../../src/core/record/refusal.ts";
import type { Submission } from "../../../src/core/record/submission.ts";
import { isOpen, isTerminal } from "../../../src/core/record/task.ts";
import { MINUTE } from "../../core/builders.ts";
import { coolDownsOf, isWaiting, mayRun, recordOf, rowsOf } from "./facts.ts";
import { placesOf } from "./setting.ts";
import type { World } from "./world.ts";

/**
 * Longest time in milliseconds for which a place stays unused although a submission waits for it and nothing fails any
 * more: a task is asked 10 minutes after the grant whether it needs its place, at most 20 of them in a minute, and what
 * an earlier failure has delayed is repeated after at most 5 minutes.
 */
const IDLE_MS = 17 * MINUTE;

/** Limit of waiting submissions that no simulated relay reaches. */
const MANY = 100;
/** Longest time in milliseconds after which a queue that could not be reached is asked again. */
const UNHEARD_MS = 6 * MINUTE;
/** Longest time in milliseconds until a queue in which submissions wait notices that more places are permitted. */
const LOOK_MS = 2 * MINUTE;

/** Checks again and again, while nothing fails any more, that no place is lost and nobody waits in vain. */
export class QuietRules {
  readonly #world: World;
  /** Times since which something holds that must not last. */
  readonly #since = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** @returns true when the world has come to rest. */
  look(): boolean {
    const { machine, taskIds } = this.#world;
    let isAtRest = ![...taskIds].some((id) => this.#world.isRunning(id));
    for (const queue of machine.places("QUEUES")) {
      const rows = rowsOf(queue);
      if (rows.length > 0) isAtRest = false;
      const { name } = queue;
      for (const row of rows) {
        const record = recordOf(machine, row.taskId);
        const mayUse =
          mayRun(record, row.submissionId, name) || isWaiting(record, row.submissionId);
        this.#limit(
          `no place stays with a task that has ended`,
          `${row.submissionId} at ${name}`,
          !row.isWaiting && !mayUse,
        );
      }
      this.#limitIdle(name);
    }
    for (const id of taskIds) this.#limitUnheard(id);
    if (machine.places("CALLS").some(({ storage }) => storage.get("call") !== undefined))
      isAtRest = false;
    return isAtRest;
  }

  /** Requires that a call which waits stands in a queue: what could not be reached is asked again soon. */
  #limitUnheard(taskId: string): void {
    const { machine, deployment } = this.#world;
    const record = recordOf(machine, taskId);
    const submission = record?.submission ?? null;
    if (record === null || submission?.isCall !== true || !isOpen(record)) return;
    this.#limitForgotten(taskId, submission);
    // A queue that is full is asked again too.
    if (deployment.setting.queueLimit < MANY) return;
    const { id } = submission;
    const isUnheard = this.#isInNoQueue(submission);
    const isExcused = this.#isForgotten(taskId, id) || this.#world.isSlowlyRegistered(id);
    const promise = "a call that waits stands in a queue";
    this.#limit(promise, taskId, isUnheard && !isExcused, UNHEARD_MS);
  }

  /**
   * Tells whether a submission waits for a place, but in none of the queues of those configured connections to which it
   * may still be sent.
   */
  #isInNoQueue(submission: Submission): boolean {
    const { id, state, stay } = submission;
    if (state.kind !== "queued" || stay === undefined) return false;
    const { machine, deployment } = this.#world;
    const queues = stay.connections.filter(
      (name) => placesOf(name, deployment.config) !== null && mayBeSentTo(submission, name),
    );
    const isIn = (name: string) =>
      rowsOf(machine.place("QUEUES", name)).some(({ submissionId }) => submissionId === id);
    return queues.length > 0 && !queues.some(isIn);
  }

  /** Requires that a call for which its task waits is stored. */
  #limitForgotten(taskId: string, { id, state }: Submission): void {
    const { machine } = this.#world;
    const isAwaited = state.kind === "queued" || state.kind === "sending";
    const isStored = machine.place("CALLS", id).storage.get("call") !== undefined;
    const isLost = isAwaited && !isStored && !this.#world.isSlowlyRegistered(id);
    this.#limit("a call for which its task waits is stored", taskId, isLost, MINUTE);
  }

  #limitIdle(name: string): void {
    const { machine, deployment } = this.#world;
    const queue = machine.place("QUEUES", name);
    const rows = rowsOf(queue);
    const record = (taskId: string) => recordOf(machine, taskId);
    const used = rows.filter(
      (row) =>
        mayRun(record(row.taskId), row.submissionId, name) ||
        (!row.isWaiting && this.#isForgotten(row.taskId, row.submissionId)),
    ).length;
    const places = placesOf(name, deployment.config) ?? Infinity;
    const { all, ofPools } = coolDownsOf(queue, machine.clock.now);
    const waiting = rows.some(
      (row) =>
        row.isWaiting &&
        isWaiting(record(row.taskId), row.submissionId) &&
        !(ofPools && row.via !== name),
    );
    this.#limit("nobody waits while a place is free", name, waiting && !all && used < places);
    const held = rows.filter((row) => !row.isWaiting).length;
    const mayTake = rows.some((row) => row.isWaiting && !(ofPools && row.via !== name));
    const isFree = mayTake && !all && held < places;
    // A queue that grants places, and gets them back from calls that are refused, has noticed them.
    const state = rows.map((row) => `${row.submissionId} ${row.attempt} ${row.isWaiting}`).join();
    this.#limit("a queue finds a free place in time", `${name} (${state})`, isFree, LOOK_MS);
  }

  /**
   * Tells whether a task waits for a call that its object has forgotten, because the registration took longer than
   * `UNCALLED_MS`. Its Worker ends such a task; if the Worker has failed too, the task fails when its time to wait is
   * over, and keeps until then a place that it got late.
   */
  #isForgotten(taskId: string, submissionId: string): boolean {
    const { machine } = this.#world;
    const call = machine.place("CALLS", submissionId).storage.get("call");
    return call === undefined && isWaiting(recordOf(machine, taskId), submissionId);
  }

  #limit(promise: string, detail: string, isBad: boolean, limitMs = IDLE_MS): void {
    const { clock, putBackMs } = this.#world.machine;
    const { passed } = clock;
    const key = `${promise} ${detail}`;
    if (!isBad) return void this.#since.delete(key);
    const since = this.#since.get(key) ?? passed;
    this.#since.set(key, since);
    if (passed - since > limitMs + putBackMs) this.#world.report(promise, detail);
  }
}

/** Checks what must hold in the end: all tasks have ended, no place is held, and the money is right. */
export function endRules(world: World): void {
  const { machine } = world;
  for (const taskId of world.taskIds) checkTask(world, taskId);
  for (const queue of machine.places("QUEUES")) {
    for (const row of rowsOf(queue)) {
      const promise = row.isWaiting ? "nobody waits in the end" : "no place is held in the end";
      world.report(promise, `${row.submissionId} at ${queue.name}`);
    }
  }
  for (const { name, storage } of machine.places("CALLS")) {
    if (storage.get("call") !== undefined) world.report("no call is kept in the end", name);
  }
  checkMoney(world);
}

function checkTask(world: World, taskId: string): void {
  const record = recordOf(world.machine, taskId);
  if (record === null) return;
  if (!isTerminal(record) || world.isRunning(taskId)) {
    world.report("every task ends", `${taskId} (${record.status})`);
  }
  if (record.submission?.stay !== undefined) {
    world.report("a task that has ended has left its queues", taskId);
  }
}

function checkMoney(world: World): void {
  const { charges, refunds } = world.ledger;
  for (const [chargeId, { taskId }] of charges) {
    // A task whose submission has started nothing is erased without an end.
    const end = world.ended.get(chargeId) ?? null;
    if ((end === "completed") === refunds.has(chargeId)) {
      world.report("a failed task is refunded, and no other", `${taskId} (${end})`);
    }
    world.observe(`a price is charged for a task that has ended: ${end}`);
  }
}

/**
 * Tells whether a submission may still be sent to a connection: not after its job has failed there, or after the
 * connection had no money or an invalid key.
 */
function mayBeSentTo(submission: Submission, connection: string): boolean {
  const isOut = submission.refusedAttempts?.some(
    (attempt) => attempt.connection === connection && isAboutAccount(attempt.refusal),
  );
  return isOut !== true && !hasFailedAt(submission, connection);
}
