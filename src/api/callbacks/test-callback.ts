import * as z from "zod/mini";
import { toListeners } from "../../objects/listeners/send-to-listeners.ts";
import { callbackBody } from "../../core/record/callback-body.ts";
import type { Account } from "../../core/record/task.ts";
import { causeOf } from "../../core/record/outcome.ts";
import type { UpstreamResult } from "../../core/record/upstream.ts";
import { log } from "../../lib/log.ts";
import { callbackRequest, deliver } from "../../outbound/webhooks.ts";
import { accountOf, keyNameOf, readerOf } from "../../objects/task/caller.ts";
import { findAccount } from "../accounts/account-client.ts";
import { json } from "../http/answer.ts";
import { requireAcceptable } from "./callback-url.ts";
import { requireUnpaused } from "../hosts/paused-hosts.ts";
import { AccountId, withDefault } from "../http/fields.ts";
import { invalidRequest } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { type Call, NoQuery, operation } from "../operation.ts";

/** Body of `POST /v1/callbacks/test`, which sends a test callback. */
export const TestOrder = z.strictObject({
  callback_url: z.string(),
  status: withDefault(z.enum(["completed", "failed"]), "completed"),
});

/**
 * Sends one sample callback. It is signed with the secret of the calling account, or with the relay's own secret when
 * an operator calls.
 */
export const testCallback = operation(
  "testCallback",
  { access: "redeliver", rateLimit: "LIMIT_TESTS", query: NoQuery, body: TestOrder },
  async (call) => {
    const id = accountOf(call.caller);
    return await sendTest(call, call.body, id === null ? null : await findAccount(call.env, id));
  },
);

export const testCallbackRoute = routeOf(
  { method: "POST", path: "/v1/callbacks/test" },
  testCallback,
  (result) => json(result),
);

/**
 * Sends one sample callback, signed with the secret of an account that an operator may choose. Only the console uses
 * this operation.
 */
export const testAsAccount = operation(
  "testAsAccount",
  {
    access: "redeliver",
    rateLimit: "LIMIT_TESTS",
    query: NoQuery,
    body: z.strictObject({ ...TestOrder.shape, account: z.string() }),
  },
  async (call) => {
    const { account: chosen, ...order } = call.body;
    return await sendTest(call, order, await signingAccount(chosen, call));
  },
);

type Sender = Pick<Call<never, unknown, unknown>, "env" | "runtime" | "caller" | "origin">;

/**
 * Finds the account whose secret signs a test callback: the caller's account or, for an operator, the account that the
 * operator may have chosen.
 * @throws Problem `invalid_request` when there is no such account.
 * @returns null when an operator has chosen no account; the relay's own secret then signs.
 */
export async function signingAccount(
  chosen: string,
  { caller, env }: Pick<Sender, "caller" | "env">,
): Promise<Account | null> {
  const own = accountOf(caller) ?? chosen;
  if (own === "") return null;
  const id = AccountId.safeParse(own);
  const account = id.success ? await findAccount(env, id.data) : null;
  if (account !== null) return account;
  throw invalidRequest([{ path: "/account", message: "is no account of this relay" }]);
}

/**
 * Sends one sample callback, and returns its outcome and the request that was sent.
 * @param account account whose secret signs the callback; null for the relay's own secret, which also signs the
 * callbacks of tasks without an account.
 */
async function sendTest(
  { env, runtime, caller, origin }: Sender,
  { callback_url: url, status }: z.output<typeof TestOrder>,
  account: Account | null,
) {
  requireAcceptable(url, runtime, origin, account !== null);
  await requireUnpaused(url, env);
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

/** Outcome of a test callback, and the request that was sent. */
export type Tested = Awaited<ReturnType<typeof sendTest>>;

/** Returns the callback of a sample task that was created and finished at the time `at`, in Unix milliseconds. */
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
