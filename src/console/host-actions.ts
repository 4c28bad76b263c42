import * as z from "zod/mini";
import { redeliverPage } from "../api/search/redeliver-many.ts";
import { accepted, taskClient } from "../api/tasks/task-client.ts";
import { testCallback } from "../api/test-callback.ts";
import { SECOND_MS } from "../core/time.ts";
import type { Env } from "../env.ts";
import type { KeyHolder } from "../task-object/caller.ts";
import type { FormVisit, ViewerVisit } from "./page.ts";
import { MAX_COUNTED } from "./send-again.ts";

/** Longest time in milliseconds for which a page waits for the attempt that it has ordered. */
const WAIT_MS = 3 * SECOND_MS;
const PAUSE_MS = 150;

const Tested = z.object({
  outcome: z.string(),
  status_code: z.optional(z.int()),
  duration_ms: z.int(),
  cause: z.optional(z.string()),
});

/** Result of a test callback. */
export type Tested = z.output<typeof Tested>;

const Sample = z.object({
  callback: z.nullable(
    z.object({
      url: z.string(),
      status: z.string(),
      attempts: z.array(
        z.object({
          outcome: z.optional(z.string()),
          status_code: z.optional(z.int()),
          response_excerpt: z.optional(z.string()),
        }),
      ),
    }),
  ),
});

/** The callback of a task, as its object knows it: its URL, its status and its attempts. */
export type SampleCallback = NonNullable<z.output<typeof Sample>["callback"]>;

/** Sends a test callback to a URL, as `POST /v1/callbacks/test` does. */
export async function testUrl(visit: FormVisit<object>, callbackUrl: string): Promise<Tested> {
  const { viewer, env, url } = visit;
  const body = JSON.stringify({ callback_url: callbackUrl });
  const request = new Request(new URL("/v1/callbacks/test", url), { method: "POST", body });
  const call = { request, env, url: new URL(request.url), params: {} };
  const response = await testCallback.handleFrom(viewer, call);
  return Tested.parse(await response.json());
}

/** Reads the callback of a task from its object; null when the task is gone or has none. */
export async function callbackOf(
  id: string,
  { env, viewer }: { readonly env: Env; readonly viewer: KeyHolder },
): Promise<SampleCallback | null> {
  const task = await taskClient(env, id).read(viewer);
  return task === null ? null : Sample.parse(JSON.parse(task.json)).callback;
}

/**
 * Orders one more attempt of the callback of a task, and waits up to 3 seconds for its end.
 * @throws Problem when the task does not take the order, e.g. `series_running`.
 */
export async function sendOnce(
  id: string,
  visit: { readonly env: Env; readonly viewer: KeyHolder },
  idempotencyKey: string,
): Promise<SampleCallback | null> {
  const order = { type: "redeliver", attempts: 1, callbackUrl: null, idempotencyKey } as const;
  accepted(await taskClient(visit.env, id).apply(order, visit.viewer));
  let callback = await callbackOf(id, visit);
  for (
    let waitedMs = 0;
    waitedMs < WAIT_MS && callback?.status === "sending";
    waitedMs += PAUSE_MS
  ) {
    await scheduler.wait(PAUSE_MS);
    callback = await callbackOf(id, visit);
  }
  return callback;
}

/** Counts the failed callbacks to a host that would be sent again, and those that would be skipped. */
export async function countRedeliveries(host: string, visit: ViewerVisit<object>) {
  const query = { callback: "failed", host, limit: MAX_COUNTED } as const;
  return redeliverPage(query, null, { ...visit, caller: visit.viewer });
}
