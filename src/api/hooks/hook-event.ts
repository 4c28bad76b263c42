import { type NewsConfig, newsRulesOf } from "../../config/news-rules.ts";
import type { HookEvent } from "../../core/events/event.ts";
import type { HookRefusal } from "../../core/record/tracking.ts";
import { withOutputOf, withoutPlaces } from "../../providers/inline-output.ts";
import {
  type NewsRules,
  type Observation,
  progressIn,
  toNews,
} from "../../providers/observation.ts";
import { type Hook, membersOf } from "../../providers/provider.ts";
import { withReason } from "../../providers/stated-reason.ts";
import { saysRunning } from "../../providers/unread-hook.ts";
import { TaskId } from "../http/fields.ts";
import type { HookTarget } from "./hook-url.ts";

/**
 * Converts a provider's hook to an event for the task. A hook that the relay does not understand becomes an event too:
 * it counts as a claim that the job has ended, because only the upstream of this task knows the hook's URL.
 * @returns the reason `other_task` instead of an event when the hook names another task.
 */
export function hookEvent(
  { adapter, connection, taskId, submissionId }: Omit<HookTarget, "hasCustomerKey">,
  json: unknown,
  hook: Hook,
  isSigned: boolean,
  config: NewsConfig,
): HookEvent | Extract<HookRefusal, "other_task"> {
  const read = json === undefined ? null : adapter.read(json, hook);
  const observation = read && withReason(read, json);
  // Another value than a task id is ignored: the operator may use this field for other purposes.
  const named = TaskId.safeParse(observation?.taskId);
  if (named.success && named.data !== taskId) return "other_task";
  const rules = newsRulesOf(config, connection);
  const answers = [{ body: json, url: null }];
  // Which member of a pool has sent the hook is not known, so a link to the host of any of them loses its place.
  const found = membersOf(connection).reduce(
    (report, { baseUrl }) => report && withoutPlaces(report, baseUrl),
    observation && withOutputOf(observation, answers, connection.baseUrl),
  );
  const submission = submissionId === null ? {} : { submissionId };
  const jobId = observation?.jobId ?? null;
  const head = { type: "hook", connection: connection.name, jobId } as const;
  const said = contentOf(found && withoutKept(found, rules), json, rules);
  return { ...head, ...said, isSigned, ...submission };
}

/** Returns the part of the event that states what a hook says about its job, or why the hook is not understood. */
function contentOf(
  observation: Observation | null,
  json: unknown,
  rules: NewsRules,
): Pick<HookEvent, "news" | "unread" | "progress"> {
  const news = observation === null ? null : toNews(observation, rules);
  if (observation !== null && news !== null) return { news, ...progressIn(observation) };
  const isStateRead = observation !== null && observation.state !== null;
  if (!isStateRead && saysRunning(json)) return { news: { status: "processing" } };
  const unread = observation === null ? "malformed" : "unknown_state";
  return { news: { status: "no_output" }, unread };
}

/**
 * Returns what a hook reports. When the relay keeps copies of outputs that are inside a hook or response (e.g. base64),
 * such outputs are left out here, because they are fetched later from the response to a poll.
 */
function withoutKept(observation: Observation, { areInlineOutputsKept }: NewsRules): Observation {
  return areInlineOutputsKept === true ? { ...observation, inlineOutputs: [] } : observation;
}
