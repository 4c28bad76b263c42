import { HOUR_MS, SECOND_MS } from "../../core/time.ts";
import { withDeadline } from "../../lib/timeout.ts";
import { jsonAt } from "../../providers/json-fields.ts";
import { isSuccess } from "../../providers/provider-answer.ts";
import { type Bytes, bytesOf } from "../../security/encoding.ts";
import { eventsToClient } from "../http/client-stream.ts";
import { Problem } from "../http/problem.ts";
import { type JobAnswer, responseOf } from "./asked-job.ts";
import type { AnswerStream, JobRead } from "./read-job.ts";

/** Longest time in milliseconds that a stream of a job's states lasts. */
const MAX_STREAM_MS = HOUR_MS;
/**
 * Longest time in milliseconds without data on a stream, because proxies close connections that are silent for longer.
 */
const MAX_SILENCE_MS = 15 * SECOND_MS;
/**
 * Pause between two reads of a job for a stream, as a fraction of the stream's age, so that a stream that lasts an hour
 * makes few reads.
 */
const WAIT_PART = 1 / 30;

/**
 * Returns the response to a call that reads a job: the upstream's response or, if the call asks for a stream and the
 * job can be read, a stream of such responses.
 * @param again reads the job once more.
 */
export function jobResponse(
  { answer, stream }: JobRead,
  again: () => Promise<JobAnswer>,
): Response {
  if (stream === null || !isSuccess(answer)) return responseOf(answer);
  const { headers } = answer;
  const gone = new AbortController();
  const events = eventsOf(answer, stream, again, gone.signal);
  headers.set("Content-Type", "text/event-stream");
  return new Response(
    eventsToClient(events, () => gone.abort()),
    { headers },
  );
}

/**
 * Yields the pieces of a stream of a job's states: an event for each upstream response that differs from the one
 * before, and a comment whenever nothing else was sent for `MAX_SILENCE_MS`.
 * @param gone aborts when the client has gone away.
 */
async function* eventsOf(
  first: JobAnswer,
  { isLast, gapMs }: AnswerStream,
  again: () => Promise<JobAnswer>,
  gone: AbortSignal,
): AsyncGenerator<Bytes, void> {
  const startedAt = Date.now();
  let [known, sentAt] = ["", startedAt];
  let answer: JobAnswer | null = first;
  while (answer !== null) {
    const bytes: Bytes | null = isSuccess(answer) ? answer.bytes : null;
    const text: string = bytes === null ? known : new TextDecoder().decode(bytes);
    if (text !== known || Date.now() - sentAt >= MAX_SILENCE_MS) {
      yield text === known ? bytesOf(":\n\n") : eventOf(text);
      sentAt = Date.now();
    }
    known = text;
    const ageMs = Date.now() - startedAt;
    if (isLast(jsonAt(text)) || ageMs >= MAX_STREAM_MS) return;
    await untilGone(Math.min(Math.max(gapMs, ageMs * WAIT_PART), MAX_SILENCE_MS), gone);
    answer = gone.aborted ? null : await nextOf(again);
  }
}

/** Returns a text as a server-sent event, in which each line of the text is a line of its own. */
function eventOf(text: string): Bytes {
  const lines = text.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return bytesOf(`${lines.join("")}\n`);
}

/** Waits for this many milliseconds, or until the client has gone away. */
async function untilGone(ms: number, gone: AbortSignal): Promise<void> {
  await withDeadline(
    ms,
    (signal) =>
      new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve());
      }),
    gone,
  );
}

/**
 * Reads the job again for a stream. A read that fails temporarily returns a 503, of which the stream makes no event.
 * @returns null when the stream must end, because the job no longer exists or its reader may no longer read it.
 */
async function nextOf(again: () => Promise<JobAnswer>): Promise<JobAnswer | null> {
  try {
    const answer = await again();
    return answer.status === 404 || answer.status === 410 ? null : answer;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code !== "unavailable") return null;
    return { status: 503, headers: new Headers(), bytes: bytesOf("") };
  }
}
