import { type NewsConfig, newsRulesOf } from "../../config/news-rules.ts";
import type { HookEvent } from "../../core/events/event.ts";
import type { HookRefusal } from "../../core/record/tracking.ts";
import { progressIn, toNews } from "../../providers/observation.ts";
import type { Hook } from "../../providers/provider.ts";
import { TaskId } from "../http/fields.ts";
import type { HookTarget } from "./hook-url.ts";

/**
 * Converts a provider's hook to an event for the task. When the hook cannot be read, concerns another task or has an
 * unknown state, returns this reason in place of an event.
 */
export function hookEvent(
  { adapter, connection, taskId, submissionId }: Omit<HookTarget, "hasCustomerKey">,
  json: unknown,
  hook: Hook,
  isSigned: boolean,
  config: NewsConfig,
): HookEvent | HookRefusal {
  const observation = json === undefined ? null : adapter.read(json, hook);
  if (observation === null) return "malformed";
  // Another value than a task id is ignored: the operator may use this field for other purposes.
  const named = TaskId.safeParse(observation.taskId);
  if (named.success && named.data !== taskId) return "other_task";
  const news = toNews(observation, newsRulesOf(config, connection));
  if (news === null) return "unknown_state";
  const { jobId } = observation;
  const progress = progressIn(observation);
  const submission = submissionId === null ? {} : { submissionId };
  const head = { type: "hook", connection: connection.name, jobId } as const;
  return { ...head, news, isSigned, ...progress, ...submission };
}
