import type { PollAnswer } from "./event.ts";
import type { Policy } from "../policy.ts";
import { isNoticeWanted, noticeOf, withNotice } from "../record/operator-notice.ts";
import type { OpenTask } from "../record/task.ts";
import { HOUR_MS } from "../time.ts";

/**
 * Time in milliseconds. If no answer to the polls of a task was understood for this time, the operator gets a notice.
 */
const UNCLEAR_MS = HOUR_MS;

/**
 * Returns the task with an operator notice about its polls, if one is needed. `upstream.unclear` is sent after an hour
 * of answers that were not understood, `upstream.no_output` after the second answer that reports success without
 * output. Each kind is added at most once to a task.
 * @param before the task before the answer.
 * @param after the task with the answer stored.
 */
export function withUpstreamNotice(
  before: OpenTask,
  after: OpenTask,
  answer: PollAnswer,
  policy: Policy,
  now: number,
): OpenTask {
  const kind = noticeKindOf(before, answer, now);
  const { told } = after.tracking;
  if (kind === null || !isNoticeWanted(policy, kind) || told.includes(kind)) return after;
  const details =
    answer.kind === "unclear" ? { status_code: answer.statusCode, word: answer.word } : null;
  const notice = noticeOf(kind, Math.max(after.version, now), now, details);
  return {
    ...after,
    notices: withNotice(after.notices, notice),
    tracking: { ...after.tracking, told: [...told, kind] },
  };
}

function noticeKindOf({ tracking }: OpenTask, answer: PollAnswer, now: number) {
  const { answer: known = null } = tracking.poll ?? {};
  if (known === null) return null;
  if (answer.kind === "unclear") {
    return known.kind === "unclear" && now >= known.since + UNCLEAR_MS ? "upstream.unclear" : null;
  }
  const isWithoutOutput = answer.kind === "news" && answer.news.status === "no_output";
  return isWithoutOutput && known.kind === "no_output" ? "upstream.no_output" : null;
}
