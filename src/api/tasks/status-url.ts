import { DAY_S, toSeconds } from "../../core/time.ts";
import { statusToken } from "../../security/status-token.ts";
import type { Runtime } from "../../config/runtime.ts";
import { NO_ORIGIN } from "../http/link-origin.ts";

/** Facts about a task from which its status link is made. */
interface LinkedTask {
  readonly id: string;
  /** Time at which the task was created, in Unix seconds. */
  readonly createdAtS: number;
  /** Time at which the record of the task was first stored, in Unix milliseconds. */
  readonly recordedAt: number;
  /**
   * Deadline that the registration states, in Unix seconds. Null when it states none, or when an event created the
   * task; the relay's default deadline then applies.
   */
  readonly deadlineAtS: number | null;
}

/** A status link (a URL that shows a task without an API key), with the time at which it expires. */
export interface StatusLink {
  readonly url: string;
  /** Time in Unix seconds from which the relay refuses the link. */
  readonly expiresAtS: number;
}

/** Returns the URL of the status link of a task. @returns null when the relay does not know its own address. */
export async function statusUrlFor(
  task: LinkedTask,
  runtime: Runtime,
  origin: string,
): Promise<string | null> {
  const isUnknown = runtime.config.publicUrl === null && origin === NO_ORIGIN;
  return isUnknown ? null : (await statusLinkOf(task, runtime, origin)).url;
}

/**
 * Returns the status link of a task. Until 24 hours after the first deadline of the task, every call returns the same
 * link, which expires then. Later, the link changes once a day, and each link works for at least another day.
 */
export async function statusLinkOf(
  { id, createdAtS, recordedAt, deadlineAtS }: LinkedTask,
  { config, keyring }: Runtime,
  origin: string,
): Promise<StatusLink> {
  const firstDeadlineS = deadlineAtS ?? createdAtS + toSeconds(config.taskDeadlineMs);
  const daysOver = Math.floor((toSeconds(Date.now()) - firstDeadlineS) / DAY_S);
  const expiresAtS = firstDeadlineS + DAY_S * (daysOver < 1 ? 1 : daysOver + 2);
  const times = { createdAtS, expiresAtS, recordedAt };
  const token = await statusToken(id, times, keyring.statusKeys);
  return { url: `${config.publicUrl ?? origin}/v1/tasks/${id}?token=${token}`, expiresAtS };
}
