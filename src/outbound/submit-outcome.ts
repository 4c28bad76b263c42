import type { Config } from "../config/config.ts";
import { newsRulesOf } from "../config/news-rules.ts";
import type { SubmitOutcome } from "../core/events/event.ts";
import type { RefusalClass } from "../core/record/refusal.ts";
import type { SubmissionAnswer } from "../core/record/submission.ts";
import type { Job, UpstreamEnd, UpstreamNews } from "../core/record/upstream.ts";
import type { ErrorText } from "../providers/failure.ts";
import { withoutPlaces } from "../providers/inline-output.ts";
import { toNews } from "../providers/observation.ts";
import type { Connection } from "../providers/provider.ts";
import type { SubmitAdapter, SubmitReading } from "../providers/submit.ts";
import { finalRefusalEnd } from "../providers/submit-refusal.ts";
import { retryAfterMs } from "./ask-upstream.ts";
import type { SubmitAnswer } from "./http.ts";

/**
 * Largest body in bytes of an upstream's response that is stored, so that a repeated submission gets the same response.
 */
const MAX_KEPT_BYTES = 8_192;
/**
 * HTTP statuses with which Cloudflare (or ops/new-connections.js on plain workerd) answers for a host that it could not
 * reach, so that nothing of the call was sent: the connection was refused, the name not found, or the TLS handshake
 * failed. An error of the runtime's own `fetch` proves nothing, because it is the same when a connection breaks after
 * the call was sent.
 */
const NEVER_SENT = [521, 523, 525, 526, 530];

/** The upstream to which a submission was sent: the connection, and the reader of the answers to submissions. */
interface SubmittedTo {
  readonly connection: Connection;
  readonly adapter: SubmitAdapter;
}

/** The part of a call on which the meaning of its answer depends. */
interface AnsweredCall {
  /** Path of the call, without a query. */
  readonly path: string;
  /** Id of the job if the call itself contains it; null when the answer states it. */
  readonly jobId: string | null;
  /** True when the upstream has got the task's hook URL and can reach it. */
  readonly isHookExpected: boolean;
}

/**
 * Returns the outcome of a submission: accepted, refused, ended with a result, or unknown.
 * @param answer the upstream's response; null when there was none.
 * @param isAnswerStored true when the relay stores the answer and the files in it, so that an answer without links is a
 * result too.
 */
export function outcomeOf(
  answer: SubmitAnswer | null,
  { adapter, connection }: SubmittedTo,
  { path, jobId, isHookExpected }: AnsweredCall,
  config: Config,
  isAnswerStored = false,
): SubmitOutcome {
  if (answer === null) return { kind: "unknown", statusCode: null };
  const { status: statusCode, json } = answer;
  if (NEVER_SENT.includes(statusCode)) return { kind: "not_sent" };
  const refusal = adapter.refusal(statusCode, json);
  if (refusal !== null) {
    const rules = newsRulesOf(config, connection);
    return refusedOutcome(refusal, answer, adapter, rules);
  }
  const unknown = { kind: "unknown", statusCode } as const;
  if (statusCode < 200 || statusCode > 299) return unknown;
  const reading: SubmitReading = adapter.readAnswer(json, path, connection.baseUrl);
  const kept = keptAnswerOf(answer);
  const accepted = (job: Job): SubmitOutcome => {
    return { kind: "accepted", statusCode, job, isHookExpected, answer: kept };
  };
  switch (reading.kind) {
    case "unclear":
      return unknown;
    case "job":
      return accepted(reading.job);
    case "named":
      return jobId === null ? unknown : accepted({ id: jobId, endpoint: null });
    case "result": {
      const observation = withoutPlaces(reading.observation, connection.baseUrl);
      const news = toNews(observation, { ...newsRulesOf(config, connection), isAnswerStored });
      if (news === null || !isEnd(news)) return unknown;
      return { kind: "result", statusCode, job: reading.job, news, answer: kept };
    }
  }
}

function refusedOutcome(
  refusal: RefusalClass,
  { status: statusCode, headers, json }: SubmitAnswer,
  adapter: SubmitAdapter,
  errorText: ErrorText,
): SubmitOutcome {
  if (refusal !== "final") {
    const waitMs = retryAfterMs(headers);
    const stated = waitMs === null ? {} : { retryAfterMs: waitMs };
    return { kind: "refused", statusCode, refusal, ...stated };
  }
  const end = finalRefusalEnd(adapter, statusCode, json, errorText);
  return { kind: "refused", statusCode, refusal, ...(end !== null && { end }) };
}

function isEnd(news: UpstreamNews): news is UpstreamEnd {
  return news.status !== "queued" && news.status !== "processing";
}

/**
 * Returns the upstream's response in the form in which it is stored for repeated submissions.
 * @returns null when it is too long or not text.
 */
export function keptAnswerOf({
  status,
  headers,
  bytes,
  isCut,
}: SubmitAnswer): SubmissionAnswer | null {
  if (isCut || bytes.length > MAX_KEPT_BYTES) return null;
  try {
    const body = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { status, contentType: headers.get("Content-Type"), body };
  } catch {
    return null;
  }
}
