import { appendMembers } from "../json.ts";
import { unknownWaitOf } from "../record/awaited-news.ts";
import { sourcesOf } from "../record/callback-body.ts";
import type { Cancellation, CancelState } from "../record/cancellation.ts";
import type { Credits, HiddenCredits } from "../record/credits.ts";
import { hasCustomerKey } from "../record/customer-key.ts";
import type { Outputs } from "../record/outputs.ts";
import type { QueuePosition } from "../record/queue-stay.ts";
import { refusalOf, shownState, type Submission } from "../record/submission.ts";
import { toSeconds } from "../time.ts";
import {
  type ChargingTask,
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import type { Policy } from "../policy.ts";
import type { Failure, UpstreamTimes } from "../record/upstream.ts";
import { callbackView } from "./callback-view.ts";
import { optional } from "./optional.ts";
import type { TaskReader } from "./reader.ts";
import { trackingView } from "./tracking-view.ts";

/**
 * Returns the task as JSON text, as `GET /v1/tasks/{id}` shows it. For a task that has ended, the text begins with the
 * members of its callback body, byte for byte. Lists show index rows instead (views/index-row.ts).
 * @param progress progress of the job of an open task in percent; null when it is not known.
 * @param policy settings, and what the task's object remembers of its polls. They are needed to show what the task
 * waits for, why and until when. With null, everything is left out that can change while the version of the stored
 * record stays the same.
 * @param queued position of the submission in the queue of its connection; null when it is not known.
 */
export function taskView(
  record: TaskRecord,
  reader: TaskReader,
  progress: number | null = null,
  policy: Policy | null = null,
  queued: QueuePosition | null = null,
): string {
  const callback = callbackView(record, reader, policy);
  if (reader === "link") return reducedView(record, callback, progress);
  const extras = JSON.stringify({
    callback,
    ...optional("account", record.account?.id ?? null),
    ...(reader === "operator" && upstreamView(record)),
    ...optional("metadata", record.registration?.metadata ?? null),
    ...optional("submission", submissionView(record, reader, queued)),
    ...optional("cancel", cancelView(record.cancellation)),
    ...optional("credits", creditsView(record.credits, reader === "operator" && policy !== null)),
    ...(isTerminal(record) ? endView(record, reader) : openView(record, reader, progress, policy)),
  });
  return appendMembers(head(record), extras);
}

/**
 * Returns the task as JSON text, as its status link (a URL with a token) shows it. For an ended task the text has the
 * members of the callback body, for an open task the id, status, model and time of creation. Added are the status of the
 * callback and what the page of the link tells: the progress, the kind of a failure, and what is kept of each output.
 */
function reducedView(
  record: TaskRecord,
  callback: { readonly status: string } | null,
  progress: number | null,
): string {
  const shown = { callback: callback && { status: callback.status } };
  if (!isTerminal(record)) {
    return appendMembers(
      head(record),
      JSON.stringify({ ...shown, ...optional("progress", progress) }),
    );
  }
  const { outputs, failure } = record;
  const extras = {
    ...shown,
    ...optional("outputs", outputs && outputsView(record, outputs)),
    ...optional("failure", failure && failureView(failure, "link")),
  };
  return appendMembers(head(record), JSON.stringify(extras));
}

function head(record: TaskRecord): string {
  if (isTerminal(record)) return record.body;
  const { id, status, model } = record;
  return JSON.stringify({ id, status, model, created_at: toSeconds(record.createdAt) });
}

function upstreamView(record: TaskRecord) {
  if (record.upstream === null) return {};
  const { connection: provider, job } = record.upstream;
  if (job === null) return { provider };
  const times = isTerminal(record) ? record.upstreamTimes : null;
  return {
    provider,
    upstream: { id: job.id, ...optional("endpoint", job.endpoint), ...(times && timesView(times)) },
  };
}

function timesView({ attachedAt, hookAt, askedAt }: UpstreamTimes) {
  return {
    attached_at: toSeconds(attachedAt),
    ...optional("hook_at", hookAt && toSeconds(hookAt)),
    ...optional("asked_at", askedAt && toSeconds(askedAt)),
  };
}

/**
 * Returns the members of an ended task that state when the relay accepted the result, and the kind of a failure. Only
 * the operator also sees the usage of the job, the ids of the upstream's requests, and the upstream's own links. An
 * account could derive from these what the operator pays, and to whom.
 */
function endView(record: TerminalTask, reader: TaskReader) {
  const { finishedAt, failure, usage, outputs } = record;
  const isLinked = outputs?.list.some(({ source }) => source !== null) === true;
  const hasSources = isLinked && reader === "operator";
  return {
    ...optional("source_urls", hasSources ? sourcesOf(record) : null),
    ...optional("outputs", outputs && outputsView(record, outputs)),
    finished_at: toSeconds(finishedAt),
    ...optional("failure", failure && failureView(failure, reader)),
    ...optional("usage", reader === "operator" ? usage : null),
  };
}

function failureView({ category, retryable, requestIds }: Failure, reader: TaskReader) {
  const shown = reader === "operator" ? requestIds : undefined;
  return { category, retryable, ...optional("request_ids", shown ?? null) };
}

/**
 * Returns the state of the relay's copy of each output, in the order of `output.urls`. It also states until when the
 * relay's link works, but not for an output that keeps the upstream's own link.
 */
function outputsView(record: TerminalTask, { list, expiresAt }: Outputs) {
  const byNumber = new Map(list.map(({ number, state }) => [number, state]));
  return sourcesOf(record).map((_, index) => {
    const state = byNumber.get(index + 1);
    if (state === undefined) return { kept: false, reason: "own_link" };
    const end = { expires_at: toSeconds(expiresAt) };
    switch (state.kind) {
      case "copying":
        return { kept: false, ...end };
      case "streamed":
      case "deleted":
        return { kept: false, reason: state.kind, ...end };
      case "kept":
        return { kept: true, bytes: state.bytes, content_type: state.mediaType, ...end };
      case "lost":
        return { kept: false, reason: state.reason, ...end };
    }
  });
}

function openView(
  record: OpenTask | ChargingTask,
  reader: TaskReader,
  progress: number | null,
  policy: Policy | null,
) {
  const tracking = reader === "operator" && isOpen(record) ? trackingView(record, policy) : {};
  return {
    ...optional("progress", progress),
    deadline_at: toSeconds(record.deadlineAt),
    ...optional("tracking", Object.keys(tracking).length === 0 ? null : tracking),
  };
}

/**
 * Returns the submission as readers see it. It contains neither the upstream's answer, which the caller has got
 * already, nor a key. When the upstream refuses a customer's own key, the customer is shown this too, because only the
 * customer can replace the key. Only the operator sees the class of a refusal and the refused attempts, because they may
 * reveal that the operator's account at the upstream has no money.
 */
function submissionView(record: TaskRecord, reader: TaskReader, queued: QueuePosition | null) {
  const { submission } = record;
  if (submission === null) return null;
  const { state, startedAt } = submission;
  const wait = unknownWaitOf(record);
  const { answeredAt = null, statusCode = null } = "answeredAt" in state ? state : {};
  return {
    state: shownState(submission),
    started_at: toSeconds(startedAt),
    ...(state.kind === "queued" && {
      start_by: toSeconds(state.failsAt),
      ...queued,
    }),
    ...optional("answered_at", answeredAt && toSeconds(answeredAt)),
    ...optional("status_code", statusCode),
    ...(wait && { waits_for: wait.news, waits_until: toSeconds(wait.until) }),
    ...optional("refusal", reader === "operator" ? refusalOf(submission) : null),
    ...optional("offer", reader === "operator" ? offerView(submission) : null),
    ...optional("attempts", reader === "operator" ? attemptsView(submission) : null),
    ...(hasCustomerKey(record) && customerKeyView(record)),
  };
}

/** Returns the offer whose price the task has. Null when an operator has submitted the job. */
function offerView({ offer }: Submission) {
  return offer === undefined ? null : { name: offer.name, ...optional("version", offer.version) };
}

/**
 * Returns the earlier attempts, oldest first: those that the upstream has refused, and those whose job has failed. Null
 * when there was none.
 */
function attemptsView({ refusedAttempts = [], failedJobs = [] }: Submission) {
  const refused = refusedAttempts.map(({ connection, at, statusCode, refusal }) => {
    return { connection, at: toSeconds(at), status_code: statusCode, refusal };
  });
  const failed = failedJobs.map(({ connection, at, job, news }) => {
    const { code, message } = news.error;
    const end = { job: job.id, error: { code, message }, category: news.failure.category };
    return { connection, at: toSeconds(at), ...end };
  });
  const all = [...refused, ...failed].toSorted((a, b) => a.at - b.at);
  return all.length === 0 ? null : all;
}

function customerKeyView(record: TaskRecord) {
  const answer = isOpen(record) ? record.tracking.poll?.answer : null;
  const refusedSince = answer?.kind === "unauthorized" ? answer.since : null;
  return {
    key: "customer",
    ...optional("key_refused_since", refusedSince && toSeconds(refusedSince)),
  };
}

/** Returns the latest order to cancel the task, and its effect at the upstream, as readers see them. */
function cancelView(cancellation: Cancellation | null) {
  if (cancellation === null) return null;
  const { reason, requestedAt, state } = cancellation;
  const { answeredAt = null, statusCode = null } = "answeredAt" in state ? state : {};
  return {
    state: cancelStateOf(state),
    reason,
    requested_at: toSeconds(requestedAt),
    ...optional("answered_at", answeredAt && toSeconds(answeredAt)),
    ...optional("status_code", statusCode),
  };
}

/**
 * Returns the state of a cancellation as readers see it. The state `ended` (the job had ended already) is shown as
 * `refused`.
 */
function cancelStateOf({ kind }: CancelState) {
  switch (kind) {
    case "asking":
    case "accepted":
      return "asked";
    case "ended":
    case "refused":
      return "refused";
    case "unknown":
    case "confirmed":
    case "not_sent":
      return kind;
  }
}

function creditsView(credits: Credits | HiddenCredits | null, hasRetry: boolean) {
  if (credits === null) return null;
  const { amount, state } = credits;
  const final = "final" in credits ? credits.final : null;
  const retry = hasRetry && "retryAt" in state ? state : null;
  const endedAt = "at" in state ? state.at && toSeconds(state.at) : null;
  return {
    amount,
    ...optional("final", final && final.credits),
    state: state.kind,
    ...optional("basis", final && final.basis),
    ...optional(state.kind === "released" ? "released_at" : "refunded_at", endedAt),
    ...(retry && { retry_at: toSeconds(retry.retryAt), tries: retry.tries }),
  };
}
