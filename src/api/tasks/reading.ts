import type { TaskReader } from "../../core/views/reader.ts";
import type { Env } from "../../env.ts";
import { readerOf } from "../../objects/task/caller.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import type { Call } from "../operation.ts";
import { taskClient } from "./task-client.ts";
import { TaskWatch } from "./task-watch.ts";

/** Access of one reader, with an API key or a status token, to one task. */
export interface Reading {
  readonly reader: TaskReader;
  /**
   * Reads the task, with the fields that this reader may see. It may be called again as long as the response lasts,
   * because each call checks that the credential is still valid.
   * @returns null when there is no task that the reader may read.
   * @throws Problem `unauthenticated` when the API key was revoked, or the status token has expired.
   */
  readonly read: () => Promise<TaskReply | null>;
  /**
   * Checks that the credential is still valid, as `read` does.
   * @throws Problem `unauthenticated` when it is not.
   */
  readonly requireCurrent: () => Promise<void>;
  /**
   * Begins to watch the task for changes. The caller must close the watch after at most `maxMs` milliseconds.
   * @returns null when too many readers are waiting with the status link of the task.
   */
  readonly watch: (maxMs: number) => Promise<TaskWatch | null>;
}

/** Returns the access that the caller of an operation has to a task. */
export function readingBy({
  env,
  caller,
  params: { id },
  requireCurrent,
}: Pick<Call<"id", unknown, unknown>, "env" | "caller" | "params" | "requireCurrent">): Reading {
  let isFirst = true;
  const read = async () => {
    // The key was looked up just before the first read.
    if (!isFirst) await requireCurrent?.();
    isFirst = false;
    return await taskClient(env, id).read(caller);
  };
  const reader = readerOf(caller);
  return {
    reader,
    read,
    requireCurrent: async () => await requireCurrent?.(),
    watch: () => TaskWatch.open(env, id, reader),
  };
}

/** A request with a status token, which is the token in the status link of a task. */
export interface LinkRequest {
  readonly env: Env;
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  readonly headers: Headers;
}

export type AnswerLink = (reading: Reading, request: LinkRequest) => Promise<Response>;
