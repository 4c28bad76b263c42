import type { Task } from "../../api/shapes/task-shape.ts";
import { SECOND_MS } from "../../core/time.ts";
import { hostOf } from "../../core/url.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";
import { queuedText } from "./next-step.ts";
import { Json } from "./result-panel.tsx";

interface FactsProps {
  readonly task: Task;
  /** True when a link to the page of the host is shown next to the callback URL. */
  readonly isHostShown: boolean;
  readonly now: number;
}

/**
 * Section with what is known of a task besides its result and its events, e.g. its receiver and its credits; empty when
 * that is nothing.
 */
export function FactsPanel({ task, isHostShown, now }: FactsProps) {
  const { callback, deadline_at, submission, cancel, credits, metadata, usage } = task;
  const facts = [callback ?? undefined, deadline_at, submission, cancel, credits, metadata, usage];
  if (facts.every((fact) => fact === undefined)) return null;
  return (
    <Panel title="Facts">
      <dl class="fields">
        <DeadlineFacts task={task} now={now} />
        <SubmissionFacts task={task} />
        <CancelFacts task={task} />
        <CreditsFacts task={task} />
        <CallbackFacts task={task} isHostShown={isHostShown} />
      </dl>
      <Json title="Labels" value={task.metadata} />
      <Json title="Usage" value={task.usage} />
    </Panel>
  );
}

function CallbackFacts({ task: { callback }, isHostShown }: Omit<FactsProps, "now">) {
  if (callback === null) return null;
  const host = isHostShown ? hostOf(callback.url) : null;
  return (
    <>
      <dt>Callback URL</dt>
      <dd>
        <Hostile text={callback.url} />
        {callback.endpoint === undefined ? null : ` of the endpoint ${callback.endpoint}`}
        {host === null ? null : (
          <>
            {" "}
            <a href={`/hosts/${encodeURIComponent(host)}`}>Page of the host</a>
          </>
        )}
      </dd>
    </>
  );
}

/** State of the submission. Its times, and the status of the upstream's answer, are in the list of events. */
function SubmissionFacts({ task: { submission } }: Pick<FactsProps, "task">) {
  if (submission === undefined) return null;
  const { state, key_refused_since: refusedSince, start_by: startBy, attempts } = submission;
  return (
    <>
      <dt>Submission</dt>
      <dd>
        {startBy === undefined ? (
          state
        ) : (
          <>
            {queuedText(submission)}; sent by <Time at={startBy * SECOND_MS} /> or not at all
          </>
        )}
        {submission.key === undefined ? null : ", with the customer's own key"}
        {refusedSince === undefined ? null : (
          <>
            , which the upstream has refused since <Time at={refusedSince * SECOND_MS} />
          </>
        )}
      </dd>
      <EarlierAttempts attempts={attempts} />
    </>
  );
}

type Attempts = NonNullable<Task["submission"]>["attempts"];
type Attempt = NonNullable<Attempts>[number];

/** Shows the attempts of a submission that were refused, or whose job has failed. Only operators get them. */
function EarlierAttempts({ attempts = [] }: { readonly attempts: Attempts | undefined }) {
  if (attempts.length === 0) return null;
  return (
    <>
      <dt>Earlier attempts</dt>
      <dd>
        {attempts.map((attempt) => (
          <p>
            {attempt.connection} <Time at={attempt.at * SECOND_MS} />: {endText(attempt)}
          </p>
        ))}
      </dd>
    </>
  );
}

function endText({ status_code: status, refusal, job, error, category }: Attempt): string {
  if (error === undefined) return `${status}, ${refusal}`;
  return `job ${job} failed (${category}): ${error.message}`;
}

/** Text for each state of a cancellation, as the console shows it. */
const CANCEL_TEXTS: Readonly<Record<NonNullable<Task["cancel"]>["state"], string>> = {
  asked: "the upstream was asked to cancel the job",
  refused: "the upstream did not cancel the job",
  unknown: "it is not known whether the upstream has canceled the job",
  confirmed: "the upstream has canceled the job",
  not_sent: "the upstream was not asked, so a running job goes on",
};

function CancelFacts({ task: { cancel } }: Pick<FactsProps, "task">) {
  if (cancel === undefined) return null;
  const { state, reason, requested_at: at, answered_at: answeredAt, status_code: code } = cancel;
  return (
    <>
      <dt>Cancellation</dt>
      <dd>
        {reason === "order" ? "Ordered" : "Begun at the deadline,"} <Time at={at * SECOND_MS} />:{" "}
        {CANCEL_TEXTS[state]}
        {answeredAt === undefined ? null : (
          <>
            , answered <Time at={answeredAt * SECOND_MS} />
          </>
        )}
        {code === undefined ? null : ` with HTTP status ${code}`}
      </dd>
    </>
  );
}

/**
 * The deadline of an open task. While it is unknown whether the submission has started a job, the task does not fail at
 * its deadline but at the time that the page states elsewhere, as the next step.
 */
function DeadlineFacts({ task, now }: Pick<FactsProps, "task" | "now">) {
  const { deadline_at: deadlineAt, submission } = task;
  const isJobAwaited = submission !== undefined && submission.state !== "accepted";
  if (deadlineAt === undefined || isJobAwaited) return null;
  return (
    <>
      <dt>Fails at</dt>
      <dd>
        <Time at={deadlineAt * SECOND_MS} />, <Ago at={deadlineAt * SECOND_MS} now={now} />
      </dd>
    </>
  );
}

function CreditsFacts({ task: { credits } }: Pick<FactsProps, "task">) {
  if (credits === undefined) return null;
  return (
    <>
      <dt>Credits</dt>
      <dd>
        {credits.amount} {credits.state}
        {credits.final === undefined ? null : (
          <span class="muted">
            {" "}
            (costs {credits.final},{" "}
            {credits.basis === "hold" ? "its use is not known" : `by ${credits.basis}`})
          </span>
        )}
      </dd>
    </>
  );
}
