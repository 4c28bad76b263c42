import * as z from "zod/mini";
import { toListeners } from "../objects/listeners/send-to-listeners.ts";
import { callbackBody } from "../core/record/callback-body.ts";
import type { Account } from "../core/record/task.ts";
import { causeOf } from "../core/record/outcome.ts";
import type { UpstreamResult } from "../core/record/upstream.ts";
import { log } from "../log.ts";
import { callbackRequest, deliver } from "../outbound/webhooks.ts";
import { accountOf, keyNameOf, readerOf } from "../task-object/caller.ts";
import { findAccount } from "./accounts/account-client.ts";
import { json } from "./http/answer.ts";
import { requireAcceptable } from "./callback-url.ts";
import { withDefault } from "./http/fields.ts";
import { type AuthenticatedRequest, bodyRoute } from "./http/route.ts";

/** Body of `POST /v1/callbacks/test`, which sends a test callback. */
export const TestOrder = z.strictObject({
  callback_url: z.string(),
  status: withDefault(z.enum(["completed", "failed"]), "completed"),
});

export const testCallback = bodyRoute(
  {
    id: "testCallback",
    method: "POST",
    path: "/v1/callbacks/test",
    access: "redeliver",
    rateLimit: "LIMIT_TESTS",
  },
  TestOrder,
  async (call) => {
    const id = accountOf(call.caller);
    return json(await sendTest(call, id === null ? null : await findAccount(call.env, id)));
  },
);

type TestCall = Pick<
  AuthenticatedRequest<unknown, unknown, z.output<typeof TestOrder>>,
  "env" | "runtime" | "caller" | "origin" | "body"
>;

/**
 * Sends one sample callback, and returns its outcome and the request that was sent.
 * @param account account whose secret signs the callback; null for the relay's own secret, which signs the
 * callbacks of tasks without an account.
 */
export async function sendTest(
  { env, runtime, caller, origin, body: order }: TestCall,
  account: Account | null,
) {
  const { callback_url: url, status } = order;
  requireAcceptable(url, runtime, origin, account !== null);
  const startedAt = Date.now();
  const message = sampleMessage(crypto.randomUUID(), status, account, origin, startedAt);
  const input = { ...message, url, number: 1, startedAt };
  const result = await deliver({ ...input, provider: null }, runtime, toListeners(env));
  const { outcome, statusCode, cloudflareError, responseExcerpt } = result;
  const cause = causeOf(result);
  const why = {
    ...(cause !== null && { cause }),
    ...(cloudflareError !== null && { cloudflare_error: cloudflareError }),
    duration_ms: Date.now() - startedAt,
  };
  const by = keyNameOf(caller);
  log({ event: "callback.test", by, outcome, status_code: statusCode, ...why });
  const isExcerptShown = readerOf(caller) === "operator" && responseExcerpt !== null;
  return {
    outcome,
    ...(statusCode !== null && { status_code: statusCode }),
    ...why,
    ...(isExcerptShown && { response_excerpt: responseExcerpt }),
    request: { method: "POST", ...(await callbackRequest(input, runtime)) },
  };
}

/** Makes the callback of a sample task that was created and finished at the time `at`, in Unix milliseconds. */
export function sampleMessage(
  taskId: string,
  status: keyof typeof SAMPLES,
  account: Account | null,
  origin: string,
  at: number,
) {
  const sample = { id: taskId, model: "sample", createdAt: at };
  return { taskId, account, status, body: callbackBody(sample, SAMPLES[status], at), origin };
}

const SAMPLES: Readonly<Record<"completed" | "failed", UpstreamResult>> = {
  completed: {
    status: "completed",
    completedAt: null,
    urls: ["https://example.com/sample.mp4"],
    metadata: {
      seed: 1,
      ratio: "16:9",
      duration: 5,
      resolution: "720p",
      generate_audio: true,
      framespersecond: 24,
    },
  },
  failed: {
    status: "failed",
    error: { code: "upstream_error", message: "This is a sample of a failed task." },
  },
};
