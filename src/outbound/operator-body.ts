import type { Config } from "../config/config.ts";
import type { OperatorNotice } from "../core/duties/operator-notice-send.ts";
import { appendMembers } from "../core/json.ts";
import type { NoticeKind } from "../core/record/operator-notice.ts";
import { toSeconds } from "../core/time.ts";

/**
 * An event for the operator: either a notice about one task, or a fault that concerns more than one task. For a fault,
 * all members except `type` become the `data` of the message.
 */
export type OperatorEvent =
  | ({ readonly type: NoticeKind } & Omit<OperatorNotice, "kind" | "version">)
  | {
      readonly type: "callback.failed";
      readonly host: string;
      readonly since: number;
      readonly failed: number;
      readonly tasks: readonly string[];
    }
  | {
      readonly type: "account.low_balance";
      readonly account: string;
      readonly balance: number;
      readonly low_balance: number;
    }
  | { readonly type: "host.failing"; readonly host: string }
  | { readonly type: "provider.unauthorized" | "provider.funds"; readonly connection: string }
  | { readonly type: "index.lagging"; readonly overdue: number; readonly cause: LaggingCause }
  | { readonly type: "index.full"; readonly bytes: number; readonly max_bytes: number }
  | { readonly type: "events.silent"; readonly since: number; readonly minutes: number };

/**
 * Reasons for which the index lags: tasks are overdue, or the hourly counts are out of date. The counts are out of date
 * when a count has failed, or when a run of the cron trigger had too little time or too few queries for all counts.
 */
export const LAGGING_CAUSES = ["tasks_overdue", "count_failed", "count_slow"] as const;
type LaggingCause = (typeof LAGGING_CAUSES)[number];

type OperatorFormat = Pick<Config, "isOperatorOnSlack" | "publicUrl">;

/**
 * Returns the body of an operator event: `{type, timestamp, data}`, as Standard Webhooks recommends, or a message
 * for Slack.
 */
export function operatorBody(
  event: OperatorEvent,
  happenedAt: number,
  config: OperatorFormat,
): string {
  if (config.isOperatorOnSlack) return slackBody(event, config);
  const head = { type: event.type, timestamp: toSeconds(happenedAt) };
  if ("task" in event) {
    const data = appendMembers(`{"task":${event.task}}`, JSON.stringify(event.details ?? {}));
    return appendMembers(JSON.stringify(head), `{"data":${data}}`);
  }
  const { type: _, ...data } = event;
  return JSON.stringify({ ...head, data });
}

/**
 * Returns a message for an incoming webhook of Slack (https://docs.slack.dev/messaging/) or a compatible chat. It has
 * the type of the event, and one line for each text and number in it, e.g. the task id and the host. Results, URLs and
 * all other contents of the task are left out, because many people may read the chat.
 */
function slackBody(event: OperatorEvent, { publicUrl: relay }: OperatorFormat): string {
  const facts =
    "task" in event
      ? { task: event.taskId, account: event.account, host: event.host, ...event.details }
      : event;
  const lines = Object.entries({ ...facts, type: null, relay }).flatMap(([name, value]) =>
    typeof value === "string" || typeof value === "number" ? `${name}: ${escaped(value)}` : [],
  );
  return JSON.stringify({ text: [`*${event.type}*`, ...lines].join("\n") });
}

/**
 * Returns a text as one line in which the characters that have a meaning for Slack are escaped, e.g. those of
 * `<!channel>`.
 */
function escaped(value: string | number): string {
  const line = String(value).replaceAll(/\s+/g, " ");
  return line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
