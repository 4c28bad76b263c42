import { DurableObject } from "cloudflare:workers";
import type { Decision } from "../core/decision.ts";
import type { RedeliverEvent, RegisterEvent, ReportEvent } from "../core/event.ts";
import type { ConflictCode, Rejection } from "../core/rejection.ts";
import { isTerminal, type TaskRecord } from "../core/task.ts";
import { type Role, taskView } from "../core/view.ts";
import { errorText, log } from "../log.ts";
import { ObjectPlatform } from "./object-platform.ts";
import { WorkLoop } from "./work-loop.ts";

/** A task as one reader may see it. */
export interface TaskReply {
  readonly version: number;
  readonly isTerminal: boolean;
  /** JSON text of the task object. */
  readonly json: string;
}

/** What became of a request to the object. */
export type Applied =
  | { readonly kind: "recorded" | "repeated"; readonly task: TaskReply }
  | { readonly kind: "erased" }
  | Refused;

export type Refused =
  | { readonly kind: "conflict"; readonly code: ConflictCode; readonly task: TaskReply }
  | { readonly kind: "invalid_field"; readonly field: string; readonly message: string }
  | { readonly kind: "unknown_task" };

const RECOVERY_MS = 60_000;
/** Beyond the longest outgoing call: a loop that has been silent for so long is dead. */
const WATCHDOG_MARGIN_MS = 5_000;

/** One task: one record under one key, and the alarm that follows from it. */
export class TaskObject extends DurableObject<object> {
  readonly #platform: ObjectPlatform;
  readonly #loop: WorkLoop;

  constructor(ctx: DurableObjectState, env: object, watchdogMarginMs = WATCHDOG_MARGIN_MS) {
    super(ctx, env);
    this.#platform = new ObjectPlatform(ctx, watchdogMarginMs);
    this.#loop = new WorkLoop(this.#platform);
  }

  async apply(event: RegisterEvent | ReportEvent | RedeliverEvent, role: Role): Promise<Applied> {
    const startedAt = Date.now();
    await this.#platform.prepare(this.env);
    return this.#answer(nameOf(event), this.#loop.apply(event), role, startedAt);
  }

  async erase(role: Role): Promise<Applied> {
    const startedAt = Date.now();
    await this.#platform.prepare(this.env);
    return this.#answer("erase", await this.#loop.erase(), role, startedAt);
  }

  async read(role: Role): Promise<TaskReply | null> {
    await this.#platform.prepare(this.env);
    const record = this.#loop.read();
    return record === null ? null : replyOf(record, role);
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    const scheduledTime = info?.scheduledTime ?? 0;
    try {
      await this.#platform.prepare(this.env);
      await this.#loop.wake(scheduledTime);
    } catch (error) {
      // The platform drops an alarm that keeps throwing; one that was set before the throw it keeps.
      this.#platform.setAlarm(Math.max(Date.now(), scheduledTime) + RECOVERY_MS);
      log({ event: "alarm.failed", task_id: this.#taskId, error: errorText(error) });
      throw error;
    }
  }

  get #taskId(): string | null {
    return this.ctx.id.name ?? null;
  }

  #answer(type: string, decision: Decision, role: Role, startedAt: number): Applied {
    const applied = appliedOf(decision, role);
    const outcome = applied.kind === "conflict" ? applied.code : applied.kind;
    const durationMs = Date.now() - startedAt;
    log({ event: `task.${type}`, task_id: this.#taskId, outcome, duration_ms: durationMs });
    return applied;
  }
}

/** What the log calls an event: `register`, `redeliver`, or the status that was reported. */
function nameOf(event: RegisterEvent | ReportEvent | RedeliverEvent): string {
  return event.type === "report" ? event.news.status : event.type;
}

function appliedOf(decision: Decision, role: Role): Applied {
  switch (decision.kind) {
    case "commit":
      return { kind: "recorded", task: replyOf(decision.record, role) };
    case "nothing":
      if (decision.record === null) return { kind: "unknown_task" };
      return { kind: "repeated", task: replyOf(decision.record, role) };
    case "erase":
      return { kind: "erased" };
    case "reject":
      return refusedOf(decision.rejection, role);
  }
}

function refusedOf(rejection: Rejection, role: Role): Refused {
  switch (rejection.code) {
    case "unknown_task":
      return { kind: "unknown_task" };
    case "invalid_field":
      return { kind: "invalid_field", field: rejection.field, message: rejection.message };
    case "task_exists":
    case "conflicting_result":
    case "task_open":
    case "series_running":
    case "no_callback":
      return { kind: "conflict", code: rejection.code, task: replyOf(rejection.task, role) };
  }
}

function replyOf(record: TaskRecord, role: Role): TaskReply {
  return { version: record.version, isTerminal: isTerminal(record), json: taskView(record, role) };
}
