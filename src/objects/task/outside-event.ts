import type { TaskEvent } from "../../core/events/event.ts";
import { checkCallbackUrl } from "../../security/url-rules.ts";
import { type Caller, keyNameOf, ordererOf } from "./caller.ts";
import type { ObjectPlatform } from "./object-platform.ts";
import type { Refusal } from "./reply.ts";

/**
 * Events that are caused by requests to the API. The task object gets such an event without its caller, whom it then
 * adds to the event. All other events come from a provider's hook, the cron trigger or the work loop of the object.
 */
export type OutsideEvent = WithoutCaller<AttributedEvent>;

type WithoutCaller<Event> = Event extends unknown ? Omit<Event, "keyName" | "orderedBy"> : never;

/** An event that a request to the API has caused, including the caller. */
export type AttributedEvent = Extract<
  TaskEvent,
  {
    readonly type:
      | "register"
      | "report"
      | "attach"
      | "redeliver"
      | "cancel"
      | "cancel_submitted"
      | "erase";
  }
>;

/**
 * Returns an event with its caller added: the name of the caller's API key, and whether a redelivery is ordered by
 * the operator or by the owner of the task.
 */
export function attributed(event: OutsideEvent, caller: Caller): AttributedEvent {
  const sender = { keyName: keyNameOf(caller), orderedBy: ordererOf(caller) };
  return { ...event, ...sender };
}

/**
 * Returns the event with which a caller orders to cancel a task. For an account it is another event than for the
 * operator, because an account may cancel only what it has submitted.
 * @param isForced true to fail the task whatever becomes of its job; only an operator may order this.
 */
export function cancelEventOf({ kind }: Caller, isForced: boolean) {
  return kind === "operator"
    ? ({ type: "cancel", isForced } as const)
    : ({ type: "cancel_submitted" } as const);
}

/**
 * Returns the name of an event for the log: its type or, for a report, the reported status, e.g. `completed`. A
 * cancellation has the same name whether the operator or an account has ordered it; the field `by` of the log line
 * names the key.
 */
export function nameOf(event: OutsideEvent): string {
  if (event.type === "cancel_submitted") return "cancel";
  return event.type === "report" ? event.news.status : event.type;
}

/**
 * Returns the refusal of a redelivery to a URL, also that of an endpoint, that the relay must not call. URLs of the relay itself are refused too.
 * They are recognised by the origin under which the task was created, because the request for the redelivery may have
 * been sent to another origin. Null for any other event, and when the URL is allowed.
 */
export function urlRefusalOf(
  event: OutsideEvent,
  platform: Pick<ObjectPlatform, "load" | "urlRules">,
): Refusal | null {
  if (event.type !== "redeliver" || event.callbackUrl === null) return null;
  const record = platform.load();
  if (record === null || record.status === "charging") return null;
  const { callbackUrl, endpoint } = event;
  if (endpoint?.kind === "unknown") return null;
  const verdict = checkCallbackUrl(endpoint?.url ?? callbackUrl, platform.urlRules(record));
  if (verdict.ok) return null;
  const field = endpoint === undefined ? "/callback_url" : "/endpoint";
  return { code: "invalid_field", field, message: verdict.error };
}
