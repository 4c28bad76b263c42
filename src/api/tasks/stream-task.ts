import * as z from "zod/mini";
import { SECOND_MS } from "../../core/time.ts";
import { type Bytes, bytesOf } from "../../security/encoding.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { stateOf } from "../http/answer.ts";
import { Problem, unknownTask } from "../http/problem.ts";
import { readQuery } from "../http/query.ts";
import { queryRoute } from "../http/route.ts";
import { alsoByLink, type Reading, readingBy, StatusToken } from "./reading-route.ts";
import { pauseMs } from "./wait.ts";

/**
 * Largest number of reads of the task in one stream, which end it after about three minutes; browsers then
 * connect again. A request to a Worker may make 50 calls to objects on the Free plan
 * (https://developers.cloudflare.com/workers/platform/limits/), some of which look up the key.
 */
const MAX_READS = 40;
/** Time in milliseconds after which a browser connects again when a stream has ended. */
const RECONNECT_MS = 2 * SECOND_MS;
/** Longest silence of a stream in milliseconds, because proxies close connections that are silent for longer. */
const MAX_SILENCE_MS = 15 * SECOND_MS;

const Query = z.strictObject({ token: StatusToken });

const byKey = queryRoute(
  { id: "streamTask", method: "GET", path: "/v1/tasks/{id}/events", access: "read" },
  Query,
  async (call) => eventStream(readingBy(call), call.request.headers),
);

/**
 * Sends the changes of a task as server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 */
export const streamTask = alsoByLink(byKey, async (reading, { url, headers }) => {
  readQuery(Query, url.searchParams);
  return eventStream(reading, headers);
});

/**
 * Answers with a stream of events: the present state of the task, unless the header `Last-Event-ID` shows
 * that the reader has it, and each change until the callback and the refund of the ended task are done. A
 * reader who already has the last state gets the answer 204, after which browsers do not connect again.
 */
async function eventStream({ read }: Reading, headers: Headers): Promise<Response> {
  const known = headers.get("Last-Event-ID");
  const task = await read();
  if (task === null) throw unknownTask();
  if (task.isSettled === true && stateOf(task) === known)
    return new Response(null, { status: 204 });
  return new Response(streamOf(eventsOf(task, known, read)), {
    headers: { "Content-Type": "text/event-stream" },
  });
}

/**
 * Makes a stream that asks the generator for the next piece only when the client can receive it, and that
 * ends the generator when the client is gone.
 */
function streamOf(pieces: AsyncGenerator<Bytes, void>): ReadableStream<Bytes> {
  return new ReadableStream<Bytes>(
    {
      pull: async (controller) => {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => {
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Yields the pieces of the stream: events, and comments that break a silence. */
async function* eventsOf(
  first: TaskReply,
  last: string | null,
  read: Reading["read"],
): AsyncGenerator<Bytes, void> {
  yield bytesOf(`retry: ${RECONNECT_MS}\n\n`);
  let task: TaskReply | null = first;
  let known = last;
  let silentMs = 0;
  for (let reads = 1; task !== null; reads++) {
    const state = stateOf(task);
    if (state !== known) yield bytesOf(`event: task\nid: ${state}\ndata: ${task.json}\n\n`);
    else if (silentMs >= MAX_SILENCE_MS) yield bytesOf(":\n\n");
    if (state !== known || silentMs >= MAX_SILENCE_MS) silentMs = 0;
    known = state;
    if (task.isSettled === true || reads >= MAX_READS) return;
    const pause = pauseMs(reads - 1);
    await scheduler.wait(pause);
    silentMs += pause;
    task = await readAgain(read, task);
  }
}

/**
 * Reads the task again; returns `known`, the state that was read before, while the task or the owner of the
 * API key cannot be read. If the stream broke off instead, browsers would connect again, get an answer 503
 * and give up. Null means that the stream must end: the task is gone, the API key was revoked, or the status
 * token has expired.
 */
async function readAgain(read: Reading["read"], known: TaskReply): Promise<TaskReply | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Problem && error.code === "unavailable") return known;
    if (error instanceof Problem && error.code === "unauthenticated") return null;
    throw error;
  }
}
