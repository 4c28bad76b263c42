import type { TaskEvent } from "./event.ts";
import { withoutInputLinks } from "../record/input-links.ts";
import type { TaskRecord } from "../record/task.ts";

/**
 * Returns an event about the job of a task, with the job's input links removed from the reported outputs: some
 * upstreams return them there.
 */
export function withoutRepeatedInput(event: TaskEvent, record: TaskRecord | null): TaskEvent {
  const submission = record?.submission ?? null;
  if (event.type === "hook") {
    return { ...event, news: withoutInputLinks(event.news, submission) };
  }
  if (event.type === "poll_ended" && event.answer.kind === "news") {
    const news = withoutInputLinks(event.answer.news, submission);
    return { ...event, answer: { ...event.answer, news } };
  }
  if (event.type === "submit_ended" && event.outcome.kind === "result") {
    const news = withoutInputLinks(event.outcome.news, submission);
    return { ...event, outcome: { ...event.outcome, news } };
  }
  return event;
}
