import type { Poll } from "../../core/duties/poll.ts";
import type { PollAnswer } from "../../core/events/event.ts";
import { hostOf } from "../../core/url.ts";
import type { RefusedSubmission } from "./alerts.ts";
import type { EndedAttempt } from "./sender-binding.ts";

/**
 * The dataset `METRICS` of Analytics Engine, for time series; undefined when it is not bound. A data point costs no
 * write to the storage of a Durable Object.
 */
type TimeSeries = AnalyticsEngineDataset | undefined;

/**
 * Writes a data point about one attempt of a callback: its account, host, provider, number, outcome, status code
 * and duration.
 */
export function measureAttempt(
  series: TimeSeries,
  { attempt, result, endedAt }: EndedAttempt,
): void {
  const { url, number, startedAt, account, provider } = attempt;
  series?.writeDataPoint({
    indexes: [account?.id ?? ""],
    blobs: [result.outcome, hostOf(url) ?? "", provider ?? "", "attempt"],
    doubles: [number, endedAt - startedAt, result.statusCode ?? 0],
  });
}

/** Writes a data point about one poll: the connection, and the kind of the answer. */
export function measurePoll(series: TimeSeries, poll: Poll, answer: PollAnswer): void {
  const kind = answer.kind === "news" ? answer.news.status : answer.kind;
  const keyOwner = poll.customerKey === null ? "" : "customer";
  series?.writeDataPoint({ indexes: [""], blobs: [kind, keyOwner, poll.connection, "poll"] });
}

/** Writes a data point about a refused submission: the connection, the class of the refusal and the HTTP status. */
export function measureRefusedSubmission(
  series: TimeSeries,
  { connection, refusal, statusCode, hasCustomerKey }: RefusedSubmission,
): void {
  const blobs = [refusal, hasCustomerKey ? "customer" : "", connection, "refusal"];
  series?.writeDataPoint({ indexes: [""], blobs, doubles: [statusCode] });
}

/**
 * Writes a data point about a request whose credentials were refused (`refused`), or were not checked because too many
 * requests from the same address had failed (`limited`). The data point contains nothing that the sender of the request
 * has chosen.
 * @param connection name of the connection whose hook had a wrong signature; empty for other credentials.
 */
export function measureRefusal(
  series: TimeSeries,
  outcome: "refused" | "limited" = "refused",
  connection = "",
): void {
  series?.writeDataPoint({ indexes: [""], blobs: [outcome, "", connection, "credential"] });
}
