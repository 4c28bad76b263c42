import { HOUR_MS, SECOND_MS } from "../../core/time.ts";
import { withDeadline } from "../../lib/timeout.ts";
import { jsonAt } from "../../providers/json-fields.ts";
import { isSuccess } from "../../providers/provider-answer.ts";
import { type Bytes, bytesOf } from "../../security/encoding.ts";
import { eventsToClient } from "../http/client-stream.ts";
import { Problem } from "../http/problem.ts";
import { type PassedAnswer, responseOf } from "./asked-job.ts";
import type { AnswerStream, JobRead } from "./read-job.ts";

/** Longest time that a stream lasts, in milliseconds. */
const MAX_STREAM_MS = HOUR_MS;
/** Longest silence of a stream in milliseconds, because proxies close connections that are silent for longer. */
const MAX_SILENCE_MS = 15 * SECOND_MS;
/** Part of the age of a stream for which it waits between two reads, so that one that lasts an hour makes few. */
const WAIT_PART = 1 / 30;

/**
 * Returns the response to a call that reads a job: the upstream's answer, or the stream of its answers that the call asks
 * for, where the job can be read.
 * @param again reads the job once more.
 */
export function jobResponse(
  { answer, stream }: JobRead,
  again: () => Promise<PassedAnswer>,
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
 * Yields the pieces of a stream: an event for each answer that differs from the one before, and comments that break a
 * silence.
 * @param gone aborts when the client has gone.
 */
async function* eventsOf(
  first: PassedAnswer,
  { isLast, gapMs }: AnswerStream,
  again: () => Promise<PassedAnswer>,
  gone: AbortSignal,
): AsyncGenerator<Bytes, void> {
  const startedAt = Date.now();
  let [known, sentAt] = ["", startedAt];
  let answer: PassedAnswer | null = first;
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

/** Returns the event with a text, each line of which stands in a line of its own. */
function eventOf(text: string): Bytes {
  const lines = text.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return bytesOf(`${lines.join("")}\n`);
}

/** Waits this many milliseconds, or until the client has gone. */
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
 * Reads the job again. A read that fails for a while is an answer that changes nothing. Null when the stream must end,
 * because the job is gone or its reader may not read it any more.
 */
async function nextOf(again: () => Promise<PassedAnswer>): Promise<PassedAnswer | null> {
  try {
    const answer = await again();
    return answer.status === 404 ? null : answer;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code !== "unavailable") return null;
    return { status: 503, headers: new Headers(), bytes: bytesOf("") };
  }
}
