import type { TaskEvent } from "../core/events/event.ts";
import type { Step } from "../core/step.ts";
import type { LogLine } from "../log.ts";
import type { Platform } from "./platform.ts";

/** The steps that ask somebody else; what they answer is an event. */
export type CallStep = Extract<
  Step,
  { readonly kind: "charge" | "refund" | "poll" | "publish" | "notify" }
>;

export interface CallOutcome {
  readonly event: TaskEvent;
  readonly line: LogLine;
}

/**
 * Makes the call of a step. It never fails; when `aborted`, nobody waits for the answer any longer.
 * @param now the loop's clock, Unix milliseconds.
 */
export async function makeCall(
  step: CallStep,
  platform: Platform,
  aborted: AbortSignal,
  now: number,
): Promise<CallOutcome> {
  switch (step.kind) {
    case "charge": {
      const { taskId, chargeId, accountId: account, amount } = step.charge;
      const answer = await platform.charge(step.charge);
      const line = { task_id: taskId, account, amount, outcome: answer.kind };
      const event = { type: "charge_ended", chargeId, answer } as const;
      return { event, line: { event: "credits.charge", ...line } };
    }
    case "refund": {
      const { taskId, accountId: account, amount } = step.refund;
      const isRefunded = await platform.refund(step.refund);
      const line = { task_id: taskId, account, amount, outcome: said(isRefunded, "refunded") };
      const event = { type: "refund_ended", isRefunded } as const;
      return { event, line: { event: "credits.refund", ...line } };
    }
    case "poll": {
      const { taskId, connection, job, plannedAt } = step.poll;
      const answer = await platform.poll(step.poll, aborted);
      const told = answer.kind === "news" ? answer.news.status : answer.kind;
      const line = { task_id: taskId, connection, outcome: aborted.aborted ? "aborted" : told };
      const event = { type: "poll_ended", job, plannedAt, askedAt: now, answer } as const;
      return { event, line: { event: "upstream.poll", ...line } };
    }
    case "publish": {
      const { id, version } = step.row;
      const isPublished = await unlessAborted(platform.publish(step.row), aborted);
      const line = { task_id: id, version, outcome: said(isPublished, "published") };
      const event = { type: "publish_ended", version, isPublished } as const;
      return { event, line: { event: "index.publish", ...line } };
    }
    case "notify": {
      const { taskId, kind, version } = step.notice;
      const isTaken = await platform.notify(step.notice, aborted);
      const line = { task_id: taskId, notice: kind, outcome: said(isTaken, "delivered") };
      const event = { type: "notice_ended", kind, version, isTaken } as const;
      return { event, line: { event: "operator.notice", ...line } };
    }
  }
}

function said(isDone: boolean, done: string): string {
  return isDone ? done : "unknown";
}

/** A write that goes on by itself: only the waiting for it ends. */
async function unlessAborted(write: Promise<boolean>, aborted: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const stop = () => resolve(false);
  aborted.addEventListener("abort", stop);
  try {
    return await Promise.race([write, promise]);
  } finally {
    aborted.removeEventListener("abort", stop);
  }
}
