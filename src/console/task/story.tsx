import type { Child } from "hono/jsx";
import type { TaskAttempt } from "../../api/shapes/task-shape.ts";
import type { AttemptFacts } from "../../core/views/task-facts.ts";
import { Status } from "../parts/chip.tsx";
import { durationText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Time } from "../parts/shown-time.tsx";
import type { ShownTask } from "./task-data.ts";
import { creditDetails, eventsOf, latenessText } from "./timeline.ts";

interface Step {
  readonly at: number;
  readonly key: string;
  readonly content: Child;
  readonly kind: "event" | "money" | "result" | "attempt" | "wait";
}

/** The history of a task as an ordered list: every event, attempt and wait, with its time. */
export function Story({ shown, now }: { readonly shown: ShownTask; readonly now: number }) {
  return (
    <ol class="story">
      {stepsOf(shown, now).map(({ at, key, kind, content }) => (
        <li id={`moment-${key}`} class={`moment moment-${kind}`}>
          {kind === "wait" ? null : <Time at={at} precision="ms" />}
          <div>{content}</div>
        </li>
      ))}
    </ol>
  );
}

function stepsOf({ task, facts }: ShownTask, now: number): readonly Step[] {
  const { callback } = facts;
  const events = eventsOf(facts, creditDetails(task)).map(({ at, name, fullName, kind }): Step => {
    const content = eventText(fullName, at - facts.createdAt);
    return { at, key: name, kind, content };
  });
  const attempts = (callback?.attempts ?? []).flatMap((attempt, at, all): readonly Step[] => {
    const shown = task.callback?.attempts.find(({ number }) => number === attempt.number);
    const wait = waitBefore(attempt, all[at - 1]);
    const isUrlNew = attempt.url !== all[at - 1]?.url;
    const content = (
      <AttemptStep
        attempt={attempt}
        shown={shown}
        isUrlNew={isUrlNew}
        lateness={latenessText(attempt, facts)}
        now={now}
      />
    );
    const step: Step = {
      at: attempt.startedAt,
      key: String(attempt.number),
      kind: "attempt",
      content,
    };
    return wait === null ? [step] : [{ ...wait, key: `wait-${attempt.number}` }, step];
  });
  const ahead = [...endOfWait(facts), ...nextSteps(facts.callback, now)];
  return [...events, ...attempts, ...ahead].toSorted((a, b) => a.at - b.at);
}

function eventText(text: string, afterMs: number): Child {
  return (
    <>
      {text} {afterMs === 0 ? null : <span class="muted">+{durationText(afterMs)}</span>}
    </>
  );
}

function waitBefore(
  attempt: AttemptFacts,
  before: AttemptFacts | undefined,
): Omit<Step, "key"> | null {
  if (before?.durationMs == null) return null;
  const endedAt = before.startedAt + before.durationMs;
  const ms = attempt.startedAt - endedAt;
  const isRedelivery = attempt.series !== before.series;
  if (ms < 1_000 && !isRedelivery) return null;
  const text = isRedelivery
    ? `redelivery ${attempt.series - 1}, ${durationText(ms)} later`
    : `waited ${durationText(ms)}`;
  return { at: endedAt, kind: "wait", content: text };
}

/**
 * Returns the end of the wait for the upstream's response to a submission or, when the submission's outcome is unknown,
 * for news of the job.
 */
function endOfWait({ submission }: ShownTask["facts"]): readonly Step[] {
  const at = submission?.waitsUntil ?? null;
  if (at === null) return [];
  const text =
    submission?.state === "queued"
      ? "if the call is not sent until then, the task fails"
      : submission?.state === "sending"
        ? "without an answer until then, the outcome of the submission is unknown"
        : submission?.waitsFor === "job"
          ? "without an answer about the known job until then, the task fails"
          : "without a hook that names the job until then, the task fails";
  return [{ at, key: "waits", kind: "event", content: <span class="muted">{text}</span> }];
}

function nextSteps(callback: ShownTask["facts"]["callback"], now: number): readonly Step[] {
  if (callback === null || callback.nextAttemptAt === null) return [];
  const { nextAttemptAt: at, attempts } = callback;
  const number = (attempts.at(-1)?.number ?? 0) + 1;
  const content = (
    <span class="muted">
      attempt #{number} is {at > now ? "planned" : "due"}
    </span>
  );
  return [{ at, key: String(number), kind: "attempt", content }];
}

interface AttemptStepProps {
  readonly attempt: AttemptFacts;
  readonly shown: TaskAttempt | undefined;
  /** True for the first attempt of the list, and for an attempt whose URL differs from that of the attempt before. */
  readonly isUrlNew: boolean;
  readonly lateness: string;
  readonly now: number;
}

function AttemptStep({ attempt, shown, isUrlNew, lateness, now }: AttemptStepProps) {
  const { number, durationMs, startedAt, url } = attempt;
  const took =
    durationMs === null ? `running for ${durationText(now - startedAt)}` : durationText(durationMs);
  return (
    <>
      <p class="attempt-line">
        <a href={`?attempt=${number}#seen`}>#{number}</a>
        <Status of={attempt.outcome ?? "sending"} />
        {shown?.status_code === undefined ? null : <span>{shown.status_code}</span>}
        <span>{took}</span>
        <span class="muted">{lateness}</span>
        {notesOf(shown).map((note) => (
          <span class="muted">
            <Hostile text={note} />
          </span>
        ))}
      </p>
      <AnswerFacts answer={shown?.answer} />
      {shown?.response_excerpt === undefined ? null : (
        <pre class="excerpt">
          <Hostile text={shown.response_excerpt} />
        </pre>
      )}
      {isUrlNew ? (
        <p class="muted small">
          <Hostile text={url} />
        </p>
      ) : null}
    </>
  );
}

function notesOf(shown: TaskAttempt | undefined): readonly string[] {
  const { cause, cloudflare_error: error, ordered_by: key } = shown ?? {};
  return [
    ...(cause === undefined || cause === "other" ? [] : [cause.replaceAll("_", " ")]),
    ...(error === undefined ? [] : [`Cloudflare error ${error}`]),
    ...(key === undefined ? [] : [`ordered by ${key}`]),
  ];
}

function AnswerFacts({ answer }: { readonly answer: TaskAttempt["answer"] }) {
  if (answer === undefined) return null;
  const { content_type: type, location_host: host, retry_after: retryAfter } = answer;
  return (
    <p class="muted small">
      {type === undefined ? null : <Hostile text={type} />}
      {host === undefined ? null : (
        <>
          {" "}
          points to <Hostile text={host} />
        </>
      )}
      {retryAfter === undefined ? null : (
        <>
          {" "}
          asks to retry after <Hostile text={retryAfter} />
        </>
      )}
    </p>
  );
}
