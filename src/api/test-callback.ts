import * as z from "zod/mini";
import { callbackBody } from "../core/record/callback-body.ts";
import { causeOf } from "../core/record/outcome.ts";
import type { UpstreamResult } from "../core/record/upstream.ts";
import { log } from "../log.ts";
import { deliver } from "../outbound/webhooks.ts";
import { accountOf, keyNameOf } from "../task-object/caller.ts";
import { findAccount } from "./accounts/account-client.ts";
import { json } from "./http/answer.ts";
import { requireAcceptable } from "./callback-url.ts";
import { withDefault } from "./http/fields.ts";
import { bodyRoute } from "./http/route.ts";

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
  async ({ env, runtime, caller, origin, body }) => {
    requireAcceptable(body.callback_url, runtime, origin);
    const accountId = accountOf(caller);
    const account = accountId === null ? null : await findAccount(env, accountId);
    const taskId = crypto.randomUUID();
    const startedAt = Date.now();
    const sample = { id: taskId, model: "sample", createdAt: startedAt };
    const result = await deliver(
      {
        taskId,
        account,
        status: body.status,
        body: callbackBody(sample, SAMPLES[body.status], startedAt),
        url: body.callback_url,
        origin,
        number: 1,
        startedAt,
        provider: null,
      },
      runtime,
    );
    const { outcome, statusCode, cloudflareError } = result;
    const cause = causeOf(result);
    const why = {
      ...(cause !== null && { cause }),
      ...(cloudflareError !== null && { cloudflare_error: cloudflareError }),
      duration_ms: Date.now() - startedAt,
    };
    const by = keyNameOf(caller);
    log({ event: "callback.test", by, outcome, status_code: statusCode, ...why });
    return json({ outcome, ...(statusCode !== null && { status_code: statusCode }), ...why });
  },
);

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
