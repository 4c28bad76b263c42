import * as z from "zod/mini";
import { compiled } from "../../core/compiled.ts";
import { hashOf } from "../../core/hash.ts";
import type { TaskReader } from "../../core/views/reader.ts";
import { SECOND_MS } from "../../core/time.ts";
import { stateOf, type TaskReply } from "../../objects/task/reply.ts";
import { taskAnswer } from "../http/answer.ts";
import { unknownTask } from "../http/problem.ts";
import { readQuery } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { readingByToken } from "./status-token-reading.ts";
import { type LinkRequest, readingBy, type Reading } from "./reading.ts";
import { alsoByLink, StatusToken } from "./reading-route.ts";
import { taskClient } from "./task-client.ts";
import { readWhen } from "./task-watch.ts";
import { Wait, waitMsOf } from "./wait.ts";

/** Seconds after which a reader is asked to look again at a task that has not ended. */
export const RETRY_AFTER_S = "5";

/** Wait of a reader of a task: for which states of the task, and how long. */
interface Awaited {
  /** Longest time in milliseconds for which the reader waits. */
  readonly waitMs: number;
  /**
   * ETags of the responses that the reader already has, or `*` for all. The reader waits for a state of the task that
   * has another ETag. Null means that the reader waits for the task's result.
   */
  readonly known: readonly string[] | null;
}

/** A task as its reader may see it, with what the response must tell about it. */
export interface FoundTask {
  readonly task: TaskReply;
  readonly reader: TaskReader;
  /**
   * ETag of the response. It contains the kind of reader (operator, account or status link), because each sees other
   * fields.
   */
  readonly etag: string;
  /** True when the reader already has this response. */
  readonly isKnown: boolean;
  /**
   * True when the response was not delayed although the reader asked for a delay, because too many readers are waiting
   * with the same status link.
   */
  readonly isCrowded: boolean;
}

/**
 * Schema of the parameters with which a task is read: `wait`, for how many seconds the response may be delayed, and
 * `known`, the ETags of the states that the reader already has. It is compiled when the isolate starts.
 */
export const ReadQuery = compiled(
  z.strictObject({ wait: Wait, known: z.optional(z.array(z.string())) }),
);

/**
 * Reads a task. With `wait`, the response is delayed by at most this number of seconds until the task has a result or,
 * when `known` is given too, until the task has a state whose ETag is not in `known`.
 */
export const readTask = operation(
  "readTask",
  {
    access: "read",
    params: ["id"],
    query: ReadQuery,
    body: NoBody,
  },
  async ({ query: { wait, known = null }, ...call }) =>
    await taskWhen({ waitMs: waitMsOf(wait), known }, readingBy(call)),
);

/**
 * Reads a task with data that only the console shows, e.g. the times of its attempts. Only the console uses this
 * operation.
 * @returns null when there is no task that the caller may read.
 */
export const inspectTask = operation(
  "inspectTask",
  { access: "read", params: ["id"], query: NoQuery, body: NoBody },
  async ({ env, caller, params: { id } }) => await taskClient(env, id).inspect(caller),
);

/** Schema of the query parameters with which a task is read. It is compiled when the isolate starts. */
export const LinkQuery = compiled(z.strictObject({ wait: Wait, token: StatusToken }));

const byKey = routeOf({ method: "GET", path: "/v1/tasks/{id}" }, readTask, answerOf, {
  schema: LinkQuery,
  read: (url, headers) => {
    const { waitMs, known } = awaitedBy(url, headers);
    return { wait: String(waitMs / SECOND_MS), ...(known !== null && { known }) };
  },
});

export const readTaskRoute = alsoByLink(byKey, async (reading, { url, headers }) =>
  answerOf(await taskWhen(awaitedBy(url, headers), reading)),
);

/**
 * Reads the task of a status link for the holder of its token.
 * @throws Problem when the token is not valid.
 */
export async function readLinkedTask(request: LinkRequest): Promise<FoundTask> {
  const reading = await readingByToken(request);
  return await taskWhen(awaitedBy(request.url, request.headers), reading);
}

function awaitedBy(url: URL, headers: Headers): Awaited {
  const { wait } = readQuery(LinkQuery, url);
  const tags = headers.get("If-None-Match")?.split(",");
  return {
    waitMs: waitMsOf(wait, headers.get("Prefer")),
    // Weak comparison (RFC 9110 §13.1.2).
    known: tags?.map((tag) => tag.trim().replace(/^W\//, "")) ?? null,
  };
}

/** Reads a task once it has a state for which the reader waits, or once the time to wait is over. */
export async function taskWhen({ waitMs, known }: Awaited, reading: Reading): Promise<FoundTask> {
  const { reader } = reading;
  const isStateKnown = (task: TaskReply) => {
    const start = `"${stateOf(task)}-${reader}`;
    return known?.some((tag) => tag === "*" || tag.startsWith(start)) ?? false;
  };
  const isAwaited = (task: TaskReply) => (known === null ? task.isTerminal : !isStateKnown(task));
  let isCrowded = false;
  const watch = async (maxMs: number) => {
    const opened = await reading.watch(maxMs);
    isCrowded = opened === null;
    return opened;
  };
  const task = await readWhen({ ...reading, watch, stateIn: (read) => read }, isAwaited, waitMs);
  if (task === null) throw unknownTask();
  const etag = etagOf(task, reader);
  return {
    task,
    reader,
    etag,
    isKnown: known?.some((tag) => tag === "*" || tag === etag) ?? false,
    isCrowded,
  };
}

/**
 * Returns the ETag of a task for a reader. For operators it also contains a hash of the JSON text, because operators
 * see members that can change without a change of the task's state, e.g. the time of the next poll; so it does for all
 * readers while the task has a position in a queue.
 */
function etagOf(task: TaskReply, reader: TaskReader): string {
  const seen = `${stateOf(task)}-${reader}`;
  const isHashed = reader === "operator" || task.position !== undefined;
  return isHashed ? `"${seen}-${hashOf(task.json).toString(16)}"` : `"${seen}"`;
}

function answerOf({ task, reader, etag, isKnown }: FoundTask): Response {
  const headers = {
    ETag: etag,
    "Cache-Control": "private, no-cache",
    // A browser that opens a status link gets a page of the console instead.
    Vary: reader === "link" ? "Authorization, Accept" : "Authorization",
    ...(task.isTerminal ? {} : { "Retry-After": RETRY_AFTER_S }),
  };
  return isKnown ? new Response(null, { status: 304, headers }) : taskAnswer(task, 200, headers);
}
