import type { Policy } from "../policy.ts";
import { nextPoll } from "../polls/next-poll.ts";
import { canPoll } from "../polls/next-poll.ts";
import type { UpstreamAnswer } from "../record/poll-plan.ts";
import { keyUnreadableSince } from "../record/customer-key.ts";
import type { OpenTask } from "../record/task.ts";
import { keptJobIds, type Tracking } from "../record/tracking.ts";
import { toSeconds } from "../time.ts";
import { optional } from "./optional.ts";

/**
 * Returns what the operator sees of the search for a task's result:
 * - the jobs that hooks have named, while no job is attached to the task
 * - the first answer (to a poll) that the relay did not understand, if the latest answers were not understood
 * - the time since when the relay cannot decrypt the customer's key of the task, if it cannot
 * @param policy configuration of the relay, and what the object of the task has in memory. With it, the view also has
 * the latest answer, the next poll with its reason, and how many hooks were accepted, stored for later or refused. With
 * null these are left out.
 */
export function trackingView(task: OpenTask, policy: Policy | null) {
  const { tracking } = task;
  const jobIds = keptJobIds(tracking);
  const answer = tracking.poll?.answer ?? null;
  const unreadableSince = keyUnreadableSince(task);
  return {
    ...(policy !== null && task.upstream !== null && waitView(task, policy)),
    ...optional("kept_jobs", jobIds.length === 0 ? null : jobIds),
    ...optional("unclear", answer?.kind === "unclear" ? unclearView(answer) : null),
    ...optional("key_unreadable_since", unreadableSince && toSeconds(unreadableSince)),
  };
}

function waitView(task: OpenTask, policy: Policy) {
  const { tracking, counts } = task;
  const { askedAt, pausedAt } = policy;
  const next = nextPoll(task, policy);
  const isPaused = pausedAt !== null && tracking.poll !== null && canPoll(task, policy, pausedAt);
  return {
    ...optional("paused", isPaused || null),
    ...answerView(tracking),
    ...optional("asked_at", askedAt === 0 ? null : toSeconds(askedAt)),
    ...optional("next_poll_at", next && toSeconds(next.dueAt)),
    ...optional("next_poll_reason", next && next.reason),
    is_extended: tracking.isExtended,
    hooks_taken: counts.hooks,
    hooks_kept: tracking.keptHooks.length,
    hooks_refused: tracking.refusedHooks.map(({ at, reason }) => ({ at: toSeconds(at), reason })),
  };
}

function answerView({ poll }: Tracking) {
  const { answer = null, unansweredSince = null } = poll ?? {};
  if (unansweredSince !== null) {
    return { answer: "unanswered", answer_since: toSeconds(unansweredSince) };
  }
  return answer === null ? {} : { answer: answer.kind, answer_since: toSeconds(answer.since) };
}

function unclearView({ since, statusCode, word }: UpstreamAnswer) {
  return {
    since: toSeconds(since),
    ...optional("status_code", statusCode),
    ...optional("word", word),
  };
}
