import * as z from "zod/mini";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { type Bytes, bytesOf } from "../../security/encoding.ts";
import { stateOf, type TaskReply } from "../../objects/task/reply.ts";
import { eventsToClient } from "../http/client-stream.ts";
import { Problem, unknownTask } from "../http/problem.ts";
import { readQuery } from "../http/query.ts";
import { queryRoute } from "../http/route.ts";
import { type Reading, readingBy } from "./reading.ts";
import { alsoByLink, StatusToken } from "./reading-route.ts";
import type { TaskWatch } from "./task-watch.ts";

/** Longest time in milliseconds that a stream lasts. Browsers connect again afterwards. */
const MAX_STREAM_MS = 15 * MINUTE_MS;
/** Time in milliseconds after the end of a stream before a browser connects again. */
const RECONNECT_MS = 2 * SECOND_MS;
/**
 * Time in milliseconds before a browser connects again when its stream ended right after the task's present state,
 * because too many readers use the same status link.
 */
const CROWDED_RECONNECT_MS = 15 * SECOND_MS;
/**
 * Longest time in milliseconds without data on a stream, because proxies close connections that are silent for longer.
 */
const MAX_SILENCE_MS = 15 * SECOND_MS;

const Query = z.strictObject({ token: StatusToken });

const byKey = queryRoute(
  { id: "streamTask", method: "GET", path: "/v1/tasks/{id}/events", access: "read" },
  Query,
  async (call) => await eventStream(readingBy(call), call.request.headers),
);

/**
 * Sends the changes of a task as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 */
export const streamTask = alsoByLink(byKey, async (reading, { url, headers }) => {
  readQuery(Query, url);
  return await eventStream(reading, headers);
});

/**
 * Returns a response that is a stream of events. The first event is the present state of the task, unless the header
 * `Last-Event-ID` shows that the reader already has it. An event follows for each change until the task has ended and
 * its callback and refund are done. A reader that already has the last state gets the status 204, after which browsers
 * do not connect again.
 */
async function eventStream(reading: Reading, headers: Headers): Promise<Response> {
  const known = headers.get("Last-Event-ID");
  const task = await reading.read();
  if (task === null) throw unknownTask();
  if (task.isSettled && stateOf(task) === known) return new Response(null, { status: 204 });
  const watch = task.isSettled ? null : await reading.watch(MAX_STREAM_MS);
  const events = eventsOf(task, known, reading, watch);
  // The end of the watch ends the generator.
  return new Response(
    eventsToClient(events, () => watch?.close()),
    {
      headers: { "Content-Type": "text/event-stream" },
    },
  );
}

/**
 * Yields the pieces of a task's stream: events and, after each silence, a comment that keeps the connection open.
 * @param watch reports changes of the task; null for a stream that ends after the present state.
 */
async function* eventsOf(
  first: TaskReply,
  last: string | null,
  reading: Reading,
  watch: TaskWatch | null,
): AsyncGenerator<Bytes, void> {
  const endsAt = Date.now() + MAX_STREAM_MS;
  const isCrowded = watch === null && !first.isSettled;
  yield bytesOf(`retry: ${isCrowded ? CROWDED_RECONNECT_MS : RECONNECT_MS}\n\n`);
  let sentAt = Date.now();
  let task: TaskReply | null = first;
  let known = last;
  while (task !== null) {
    const state = stateOf(task);
    const isNew = state !== known;
    if (isNew || Date.now() - sentAt >= MAX_SILENCE_MS) {
      yield bytesOf(isNew ? `event: task\nid: ${state}\ndata: ${task.json}\n\n` : ":\n\n");
      sentAt = Date.now();
    }
    known = state;
    if (task.isSettled || watch === null || watch.isClosed) return;
    if (Date.now() >= endsAt) return;
    task = await taskAfter(task, reading, watch, sentAt + MAX_SILENCE_MS - Date.now());
  }
}

/**
 * Waits at most `maxMs` milliseconds until the task may have changed, and reads it.
 * @returns null when the stream must end, because its reader has left or `whileValid` returned null.
 */
async function taskAfter(
  seen: TaskReply,
  { read, requireCurrent }: Reading,
  watch: TaskWatch,
  maxMs: number,
): Promise<TaskReply | null> {
  const hasChanged = await watch.changed(seen, maxMs);
  if (watch.isClosed) return null;
  const task = await whileValid(seen, async () => {
    if (hasChanged) return await read();
    await requireCurrent();
    return seen;
  });
  if (hasChanged && task === seen) watch.noteFailedRead(seen);
  return task;
}

/**
 * Reads the task again for a stream. When the task, or the owner of the API key, cannot be read, returns `known`, the
 * state that was read before, because a broken stream would make browsers connect again, get 503 and give up.
 * @returns null when the stream must end: the task is gone, the API key was revoked, or the status token has expired.
 */
async function whileValid(
  known: TaskReply,
  read: () => Promise<TaskReply | null>,
): Promise<TaskReply | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Problem && error.code === "unavailable") return known;
    if (error instanceof Problem && error.code === "unauthenticated") return null;
    throw error;
  }
}
