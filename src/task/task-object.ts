import { DurableObject } from "cloudflare:workers";
import type { Decision } from "../core/events/decision.ts";
import type { HookEvent, TaskEvent } from "../core/events/event.ts";
import { isLate } from "../core/events/hooks.ts";
import { errorText, log } from "../log.ts";
import { accountOf, type Caller, roleOf } from "./caller.ts";
import { type ObjectBindings, ObjectPlatform, type Timeouts } from "./object-platform.ts";
import { type Applied, appliedOf, replyOf, type TaskReply } from "./reply.ts";
import { WorkLoop } from "./work-loop.ts";

/** What the outside may tell a task; everything else it tells itself. */
export type OutsideEvent = Extract<
  TaskEvent,
  { readonly type: "register" | "report" | "attach" | "redeliver" | "cancel" | "erase" }
>;

const RECOVERY_MS = 60_000;
const UNKNOWN_TASK: Applied = { kind: "unknown_task" };

/** One task: one record under one key, and the alarm that follows from it. */
export class TaskObject extends DurableObject<ObjectBindings> {
  readonly #platform: ObjectPlatform;
  readonly #loop: WorkLoop;

  /** @param timeouts limits that differ from the defaults. */
  constructor(ctx: DurableObjectState, env: ObjectBindings, timeouts: Partial<Timeouts> = {}) {
    super(ctx, env);
    this.#platform = new ObjectPlatform(ctx, env, timeouts);
    this.#loop = new WorkLoop(this.#platform);
  }

  async apply(event: OutsideEvent, caller: Caller): Promise<Applied> {
    const startedAt = Date.now();
    await this.#platform.prepare(this.env);
    const applied = this.#isForeign(caller) ? UNKNOWN_TASK : await this.#conclude(event, caller);
    const outcome = this.#outcomeOf(applied, event);
    const durationMs = Date.now() - startedAt;
    const line = { task_id: this.#taskId, outcome, duration_ms: durationMs };
    log({ event: `task.${nameOf(event)}`, ...line });
    return applied;
  }

  /** A native hook: it is taken, or there is no such task; nothing conflicts with it. */
  async hook(event: HookEvent): Promise<"taken" | "unknown_task"> {
    await this.#platform.prepare(this.env);
    const decision = this.#loop.apply(event);
    const isUnknown = decision.kind === "reject";
    const said = "note" in decision ? decision.note : undefined;
    const outcome = said ?? (decision.kind === "commit" ? "recorded" : "unknown_task");
    const { connection, news } = event;
    log({ event: "task.hook", task_id: this.#taskId, connection, status: news.status, outcome });
    return isUnknown ? "unknown_task" : "taken";
  }

  /** Has the task's row written anew. @returns when the task was created; null: there is none. */
  async republish(): Promise<number | null> {
    await this.#platform.prepare(this.env);
    const decision = this.#loop.apply({ type: "republish" });
    return decision.kind === "commit" ? decision.record.createdAt : null;
  }

  async read(caller: Caller): Promise<TaskReply | null> {
    await this.#platform.prepare(this.env);
    const record = this.#loop.read();
    if (record === null || record.status === "charging" || this.#isForeign(caller)) return null;
    return replyOf(record, roleOf(caller));
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    const scheduledTime = info?.scheduledTime ?? 0;
    try {
      await this.#platform.prepare(this.env);
      await this.#loop.wake(scheduledTime);
    } catch (error) {
      // The platform drops an alarm that keeps throwing; one that was set before the throw it keeps.
      // What the loop remembers of its alarm is refreshed when this one comes.
      this.#platform.setAlarm(Math.max(Date.now(), scheduledTime) + RECOVERY_MS);
      log({ event: "alarm.failed", task_id: this.#taskId, error: errorText(error) });
      throw error;
    }
  }

  get #taskId(): string | null {
    return this.ctx.id.name ?? null;
  }

  #outcomeOf(applied: Applied, event: OutsideEvent): string {
    if (applied.kind !== "conflict") return applied.kind;
    const isSuccessTooLate = event.type === "report" && isLate(this.#platform.load(), event.news);
    return isSuccessTooLate ? "late_result" : applied.code;
  }

  async #conclude(event: OutsideEvent, caller: Caller): Promise<Applied> {
    const before = this.#platform.load();
    const decision = await this.#loop.applyAndErase(event);
    const chargeId = outstandingCharge(decision);
    if (chargeId === null) return appliedOf(decision, before, roleOf(caller));
    return this.#charged(chargeId, decision.kind === "commit", caller);
  }

  /** Waits for the ledger: only its answer says whether there is a task. */
  async #charged(chargeId: string, isNew: boolean, caller: Caller): Promise<Applied> {
    const last = await this.#loop.runUntilIdle();
    const answer = last?.chargeId === chargeId ? last.answer : null;
    if (answer?.kind === "insufficient") {
      const { balance, price } = answer;
      return { kind: "insufficient_credits", balance, price };
    }
    if (answer?.kind === "unknown_account") return { kind: "unknown_account" };
    const record = this.#platform.load();
    if (record === null || record.status === "charging") return { kind: "charging" };
    if (record.credits?.chargeId !== chargeId) return { kind: "charging" };
    return { kind: isNew ? "recorded" : "repeated", task: replyOf(record, roleOf(caller)) };
  }

  #isForeign(caller: Caller): boolean {
    const accountId = accountOf(caller);
    return accountId !== null && this.#platform.load()?.account?.id !== accountId;
  }
}

/** The charge that has to be answered before anything can be said of the task. */
function outstandingCharge(decision: Decision): string | null {
  if (decision.kind !== "commit" && decision.kind !== "nothing") return null;
  return decision.record?.status === "charging" ? decision.record.credits.chargeId : null;
}

/** What the log calls an event: its type, or the status that was reported. */
function nameOf(event: OutsideEvent): string {
  return event.type === "report" ? event.news.status : event.type;
}
