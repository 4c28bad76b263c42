import { changed, type Decision, unchanged } from "./decision.ts";
import type { PollEndedEvent } from "./event.ts";
import { attachJob } from "./hooks.ts";
import { endPoll, extendDeadline } from "./polling.ts";
import type { Policy } from "../policy.ts";
import { isOpen, nextVersion, type TaskRecord } from "../record/task.ts";
import { withoutKeptJob } from "../record/tracking.ts";

/**
 * Returns the effect of a poll, made at the deadline, of a job that only a hook has named. An answer that names the
 * task attaches the job; it then counts like the answer to the final poll of an attached job. If the provider
 * refuses the poll by a rate limit, the deadline is extended, at most once. After any other answer the stored hooks
 * about this job are removed.
 */
export function endKeptJobPoll(
  record: TaskRecord | null,
  event: PollEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isOpen(record) || record.upstream === null) return unchanged(record);
  const { upstream, tracking } = record;
  if (upstream.job !== null) return unchanged(record);
  const { answer, job } = event;
  if (answer.kind === "deferred") return unchanged(record);
  if (answer.kind === "news") {
    const attached = attachJob(record, { ...upstream, job }, false, policy, now);
    return endPoll(attached, event, policy, now);
  }
  if (answer.kind === "limited" && !tracking.isExtended)
    return changed(extendDeadline(record, now));
  const version = nextVersion(record, now);
  return changed({ ...record, version, tracking: withoutKeptJob(tracking, job) });
}
