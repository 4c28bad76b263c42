import type { Task } from "../../api/shapes/task-shape.ts";
import { SECOND_MS } from "../../core/time.ts";
import { hostOf } from "../../core/url.ts";
import type { TaskFacts } from "../../core/views/task-facts.ts";
import { countOf, durationText, utcText } from "../parts/format.ts";
import { textParts } from "../parts/hostile.tsx";
import { latenessText } from "./timeline.ts";

/** Largest number of attempts that the report on a task lists. Of older attempts, it states only the number. */
const MAX_ATTEMPTS = 12;

/**
 * Returns a report on a task, to be posted in a chat: times in UTC, attempts with their outcomes, and a link. Of the
 * callback URL it contains only the host, because the URL may contain a token, and of the receiver's responses only the
 * HTTP status.
 * @param link address of the task's page.
 */
export function taskIncident(task: Task, facts: TaskFacts, link: string): string {
  const { account, callback } = task;
  const { finishedAt, createdAt } = facts;
  const state = callback === null ? task.status : `${task.status}, callback ${callback.status}`;
  const owner = account === undefined ? "" : `, account ${account}`;
  const ended =
    finishedAt === null
      ? ", no result yet"
      : `, result after ${durationText(finishedAt - createdAt)}`;
  return [
    `Task ${task.id} (${plain(task.model)}${owner}): ${state}`,
    `Registered ${utcText(createdAt, "ms")} UTC${ended}`,
    ...submissionLines(facts),
    ...cancelLines(task),
    ...(task.error === undefined ? [] : [`Error ${plain(task.error.code)}`]),
    ...attemptLines(task, facts),
    link,
  ].join("\n");
}

function submissionLines({ submission }: TaskFacts): readonly string[] {
  if (!submission) return [];
  const { state, sentAt, answeredAt, statusCode } = submission;
  if (sentAt === null) return [`Not submitted: ${state}`];
  const answered =
    answeredAt === null ? "" : `, answered after ${durationText(answeredAt - sentAt)}`;
  const code = statusCode === null ? "" : ` with HTTP status ${statusCode}`;
  return [`Submitted ${utcText(sentAt, "ms")} UTC${answered}${code}: ${state}`];
}

function cancelLines({ cancel }: Task): readonly string[] {
  if (cancel === undefined) return [];
  const { state, reason, requested_at: at, status_code: statusCode } = cancel;
  const code = statusCode === undefined ? "" : ` with HTTP status ${statusCode}`;
  const by = reason === "order" ? "ordered" : "at the deadline";
  return [`Cancellation ${by} ${utcText(at * SECOND_MS)} UTC: ${state}${code}`];
}

function attemptLines({ callback }: Task, facts: TaskFacts): readonly string[] {
  if (facts.callback === null) return [];
  const { attempts, url, nextAttemptAt } = facts.callback;
  const shown = attempts.slice(-MAX_ATTEMPTS);
  const earlier = attempts.length - shown.length;
  const lines = shown.map((attempt) => {
    const { number, startedAt, durationMs, outcome } = attempt;
    const view = callback?.attempts.find((each) => each.number === number);
    const result = [outcome ?? "running", view?.status_code, view?.cause].filter(Boolean).join(" ");
    const took = durationMs === null ? "" : ` in ${durationText(durationMs)}`;
    const lateness = latenessText(attempt, facts);
    return `#${number} ${utcText(startedAt, "ms")} ${plain(result)}${took}${lateness && `, ${lateness}`}`;
  });
  return [
    `Callback to ${hostOf(url) ?? "an invalid URL"}`,
    ...(earlier === 0 ? [] : [countOf(earlier, "earlier attempt")]),
    ...lines,
    ...(nextAttemptAt === null ? [] : [`Next attempt ${utcText(nextAttemptAt)} UTC`]),
  ];
}

/** Returns a text on one line, with invisible characters replaced by their names. */
function plain(text: string): string {
  const parts = textParts(text.replaceAll(/\s+/g, " "));
  return parts.map((part) => part.text).join("");
}
