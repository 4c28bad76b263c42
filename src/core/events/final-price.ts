import type { JsonObject } from "../json.ts";
import type { Policy } from "../policy.ts";
import { withFinalPrice } from "../record/credits.ts";
import { isNoticeWanted, noticeOf, withNotice } from "../record/operator-notice.ts";
import { decidePrice, type PriceDecision, type PriceRule } from "../record/price-rule.ts";
import type { TerminalTask } from "../record/task.ts";

/**
 * Returns a task that has just completed, together with its final price if it has a rule for its price. The difference
 * between the charged credits and this price is given back by a later call (duties/release.ts). The operator gets a
 * notice when the final price is not known, and when it is above the credits that were charged.
 * @param result the result with the output metadata of the callback.
 */
export function withPrice(
  task: TerminalTask,
  { metadata }: { readonly metadata: JsonObject },
  policy: Policy,
  now: number,
): TerminalTask {
  const { credits, usage } = task;
  const rule = task.registration?.priceRule;
  if (credits === null || rule === undefined) return task;
  const decision = decidePrice(credits.amount, rule, { usage, metadata });
  const priced = { ...task, credits: withFinalPrice(credits, decision.final, now) };
  const news = newsOf(decision, rule);
  if (news === null || !isNoticeWanted(policy, news.kind)) return priced;
  const notice = noticeOf(news.kind, task.version, now, news.details);
  return { ...priced, notices: withNotice(task.notices, notice) };
}

/** Returns what the operator has to know about the price of a task. Null when nothing is unusual. */
function newsOf({ unknown, missing, final }: PriceDecision, { by, name }: PriceRule) {
  const about = { credits: final.credits, [by]: name };
  if (unknown !== null) {
    return { kind: "price.unknown", details: { ...about, reason: unknown } } as const;
  }
  return missing > 0
    ? ({ kind: "price.above_hold", details: { ...about, missing } } as const)
    : null;
}
