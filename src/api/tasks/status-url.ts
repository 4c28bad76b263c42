import { DAY_MS, toSeconds } from "../../core/time.ts";
import { statusToken } from "../../security/status-token.ts";
import type { Runtime } from "../../config/runtime.ts";

const DAY_S = toSeconds(DAY_MS);

/** The task that a status link is made for. */
interface LinkedTask {
  readonly id: string;
  /** Creation of the task in Unix seconds. */
  readonly createdAtS: number;
  /** Creation of the task's record in Unix milliseconds; null when an earlier release created it. */
  readonly recordedAt: number | null;
  /**
   * Deadline that the registration states, in Unix seconds; null when it states none, or when an event created the
   * task: the relay's default deadline then counts.
   */
  readonly deadlineAtS: number | null;
}

/** A status link, the URL that shows a task without an API key, with the time at which it expires. */
export interface StatusLink {
  readonly url: string;
  /** Time in Unix seconds from which the link is refused. */
  readonly expiresAtS: number;
}

/**
 * Makes the status link of a task. It is the same at each call until it expires, 24 hours after the first
 * deadline of the task; from then on, each day has a link that works for at least another day.
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
