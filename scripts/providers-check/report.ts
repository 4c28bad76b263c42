import { isFetchedWithKey } from "../../src/config/linked-outputs.ts";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { areUrlsInBounds, type UpstreamNews } from "../../src/core/record/upstream.ts";
import type { Answered } from "../../src/outbound/named-task.ts";
import { documentedLimits } from "../../src/providers/documented-limits.ts";
import { publicText } from "../../src/providers/redaction.ts";
import type { Asking } from "./settings.ts";

type Rows = readonly (readonly [name: string, value: string | null])[];
const NO_ROWS: Rows = [];

/**
 * Describes an answer of the provider, and what the relay makes of it, in lines. Keys, tokens and the queries
 * of links are left out, as in the errors that clients read.
 */
export function reportLines(
  asking: Asking,
  answered: Answered,
  answer: PollAnswer,
  secrets: readonly string[],
): readonly string[] {
  const { reading, head } = answered;
  const state = reading.kind === "observed" ? reading.observation.state : null;
  const progress = answer.kind === "news" ? (answer.progress ?? null) : null;
  const rows: Rows = [
    ["HTTP status", String(head.status)],
    ["state", state ?? (answer.kind === "unclear" ? answer.word : null)],
    ["phase", answer.kind === "news" ? phaseOf(answer.news) : answer.kind],
    ["progress", progress === null ? null : `${progress} %`],
    ...(answer.kind === "news" ? newsRows(answer.news, asking) : NO_ROWS),
    ["task", outcomeOf(answer, asking, answered)],
  ];
  return rows.flatMap(([name, value]) =>
    value === null ? [] : [`${name.padEnd(12)} ${masked(value, secrets)}`],
  );
}

function phaseOf(news: UpstreamNews): string {
  return news.status === "no_output" ? "completed, without output" : news.status;
}

function newsRows(news: UpstreamNews, { provider }: Asking): Rows {
  const usage = "usage" in news && news.usage !== undefined ? JSON.stringify(news.usage) : null;
  switch (news.status) {
    case "completed":
      return [
        ["ended at", news.completedAt === null ? null : new Date(news.completedAt).toISOString()],
        ...news.urls.slice(0, 10).map((url) => ["link", url] as const),
        ["links", `${news.urls.length}, which live: ${documentedLimits(provider).linkLife}`],
        ["metadata", JSON.stringify(news.metadata)],
        ["usage", usage],
      ];
    case "failed": {
      const { category, retryable } = news.failure;
      return [
        ["error", news.error.message],
        ["category", `${category}, ${retryable ? "worth a retry" : "not worth a retry"}`],
        ["usage", usage],
      ];
    }
    case "no_output":
      return [["usage", usage]];
    case "queued":
    case "processing":
      return [];
  }
}

/** Describes the effect that the answer would have on a task. */
function outcomeOf(answer: PollAnswer, asking: Asking, answered: Answered): string {
  switch (answer.kind) {
    case "news":
      return outcomeOfNews(answer.news, asking, answered);
    case "unclear":
      return "stays open: the answer is not understood. Compare the id, the endpoint and the base URL with those of the submit call";
    case "unauthorized":
      return "stays open until its deadline: the provider refuses the key";
    case "limited":
      return `stays open and is polled again${answer.retryAfterMs === null ? " later" : ` after ${answer.retryAfterMs / 1000} s`}: the provider limits the rate`;
    case "deferred":
    case "unanswered":
      return "stays open and is polled again: the provider has a fault";
  }
}

function outcomeOfNews(news: UpstreamNews, { connection }: Asking, { reading }: Answered): string {
  switch (news.status) {
    case "queued":
      return "stays open, as pending";
    case "processing":
      return "stays open, as processing";
    case "no_output":
      return `stays open, and fails after ten minutes of such answers${hasKeyedLink(reading) ? UNSERVED : ""}`;
    case "failed":
      return `fails with ${news.error.code}`;
    case "completed":
      if (!areUrlsInBounds(news.urls)) return "fails with upstream_error: the result is too large";
      return news.urls.some((url) => isFetchedWithKey({ source: url }, connection))
        ? "completes, with links of the relay where the upstream's own open only with the key"
        : "completes, with the whole links";
  }
}

/** Reason why a success with a link that opens only with the key counts as one without output. */
const UNSERVED =
  ": its link opens only with the key, and the relay can give none of its own without PUBLIC_URL or OUTPUTS_URL, or for a base URL that no callback_url may name";

function hasKeyedLink(reading: Answered["reading"]): boolean {
  if (reading.kind !== "observed") return false;
  const { keyedUrls = [], contentUrl = null } = reading.observation;
  return keyedUrls.length > 0 || contentUrl !== null;
}

/**
 * Replaces secrets in a text, and control characters, which a terminal would obey; marks the place where a
 * link had a query.
 */
export function masked(value: string, secrets: readonly string[]): string {
  const query = URL.parse(value)?.search ?? "";
  const text = publicText(value, secrets).replaceAll(/\p{Cc}+/gu, " ");
  return `${text}${query === "" ? "" : "?…"}`;
}
