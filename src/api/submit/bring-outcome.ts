import type { SubmitEndedEvent, SubmitOutcome } from "../../core/events/event.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import { errorText, log } from "../../lib/log.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { taskClient } from "../tasks/task-client.ts";
import type { SubmitCall } from "./submission-plan.ts";

/**
 * The waits, in milliseconds, before each try to store the outcome of a submission in its task's object while the
 * caller waits for the response.
 */
const RETRY_WAITS_MS = [0, SECOND_MS / 2, 2 * SECOND_MS, 5 * SECOND_MS];
/**
 * The waits, in milliseconds, before each further try to store the outcome of a submission after its caller has got the
 * response. Their sum is less than the 30 seconds for which the platform lets a Worker go on after its response.
 */
const LATER_WAITS_MS = [3 * SECOND_MS, 5 * SECOND_MS, 8 * SECOND_MS, 10 * SECOND_MS];
/**
 * Largest number of submissions whose outcome this isolate remembers because the task's object could not store it. Each
 * outcome has an upstream response of at most 8 KiB, or a result.
 */
const MAX_REMEMBERED = 32;

/**
 * Outcomes of submissions whose task's object could not be reached after the upstream had responded, by the id of the
 * task. They are stored when the client repeats its call.
 */
const remembered = isolateCache<SubmitEndedEvent>(MAX_REMEMBERED, 10 * MINUTE_MS);

/** Result of reporting the outcome of a submission to the task's object, which stores it. */
export interface Brought {
  /**
   * True when the task's object has stored the outcome. False when it could not be reached: storing is then tried again
   * after the caller has got the response and, if that fails too, the outcome counts as unknown once the time for the
   * upstream's response is over.
   */
  readonly isStored: boolean;
  /**
   * The task after its object has stored the outcome. Null when the task was erased, or when the outcome could not be
   * stored.
   */
  readonly task: TaskReply | null;
}

/**
 * Reports the outcome of a submission to the task's object, which stores it. While the object cannot be reached, tries
 * several times, and goes on after the caller has got the response.
 */
export async function bringOutcome(
  taskId: string,
  submissionId: string,
  outcome: SubmitOutcome,
  submitCall: SubmitCall,
): Promise<Brought> {
  const end = { type: "submit_ended", submissionId, outcome } as const;
  const brought = await tryToBring(taskId, end, RETRY_WAITS_MS, submitCall);
  if (brought.isStored) return brought;
  if ("statusCode" in outcome && outcome.kind !== "unknown") remembered.set(taskId, end);
  submitCall.env.startup.waitUntil(tryToBring(taskId, end, LATER_WAITS_MS, submitCall));
  return brought;
}

/**
 * Reports the outcome of a task's submission to the task's object if this isolate could not do so before, so that a
 * repeated call finds the outcome.
 */
export async function bringRemembered(taskId: string, submitCall: SubmitCall): Promise<void> {
  const end = remembered.get(taskId);
  if (end !== undefined) await tryToBring(taskId, end, [0], submitCall);
}

/**
 * Tries to report the outcome of a submission to the task's object, once after each of the given waits, until the
 * object has stored it.
 */
async function tryToBring(
  taskId: string,
  end: SubmitEndedEvent,
  waitsMs: readonly number[],
  { caller, env }: SubmitCall,
): Promise<Brought> {
  const client = taskClient(env, taskId);
  for (const waitMs of waitsMs) {
    if (waitMs > 0) await scheduler.wait(waitMs);
    try {
      const task = await client.endSubmission(end, caller);
      if (remembered.get(taskId) === end) remembered.delete(taskId);
      return { isStored: true, task };
    } catch (error) {
      // While the task does not know its job, only this line has its id.
      const { outcome } = end;
      const job = "job" in outcome ? (outcome.job?.id ?? null) : null;
      const line = { task_id: taskId, outcome: outcome.kind, job, error: errorText(error) };
      log({ event: "submission.not_stored", ...line }, "warn");
    }
  }
  return { isStored: false, task: null };
}
