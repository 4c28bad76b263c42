import * as z from "zod/mini";
import { toListeners } from "../../objects/listeners/send-to-listeners.ts";
import { callbackBody } from "../../core/record/callback-body.ts";
import type { Account } from "../../core/record/task.ts";
import type { Delivery } from "../../core/duties/callback-attempt.ts";
import { causeOf } from "../../core/record/outcome.ts";
import type { UpstreamResult } from "../../core/record/upstream.ts";
import { log } from "../../lib/log.ts";
import { callbackRequest, deliver } from "../../outbound/webhooks.ts";
import { accountOf, keyNameOf, readerOf } from "../../objects/task/caller.ts";
import { findAccount } from "../accounts/account-client.ts";
import { json } from "../http/answer.ts";
import { namedEndpoint } from "../endpoints/endpoint-client.ts";
import { hiddenHeaders } from "./attempt-request.ts";
import { refusalOf, requireAcceptable } from "./callback-url.ts";
import { requireUnpaused } from "../hosts/paused-hosts.ts";
import { AccountId, optional, withDefault } from "../http/fields.ts";
import { invalidRequest, unknownEndpoint } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { type Call, NoQuery, operation } from "../operation.ts";

const FIELDS = {
  callback_url: optional(z.string()),
  endpoint: optional(z.string()),
  status: withDefault(z.enum(["completed", "failed"]), "completed"),
};
const ONE_RECEIVER = {
  path: ["callback_url"],
  message: "must be stated, or endpoint in its place",
};

/** Body of `POST /v1/callbacks/test`, which sends a test callback to a URL or to an endpoint. */
export const TestOrder = z.strictObject(FIELDS).check(z.refine(hasOneReceiver, ONE_RECEIVER));

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
    body: z
      .strictObject({ ...FIELDS, account: z.string() })
      .check(z.refine(hasOneReceiver, ONE_RECEIVER)),
  },
  async (call) => {
    const { account: chosen, ...order } = call.body;
    return await sendTest(call, order, await signingAccount(chosen, call));
  },
);

function hasOneReceiver({
  callback_url: url,
  endpoint,
}: Record<"callback_url" | "endpoint", string | null>): boolean {
  return (url === null) !== (endpoint === null);
}

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
  sender: Sender,
  order: z.output<typeof TestOrder>,
  account: Account | null,
) {
  const { env, runtime, caller, origin } = sender;
  const target = await testTarget(order, account, sender);
  await requireUnpaused(target.url, env);
  const startedAt = Date.now();
  const message = sampleMessage(crypto.randomUUID(), order.status, account, origin, startedAt);
  const input = { ...message, ...target, number: 1, startedAt };
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
    request: {
      method: "POST",
      ...(await callbackRequest(input, runtime)),
      ...hiddenHeaders(target.endpoint),
    },
  };
}

/**
 * Returns the URL of a test callback, and the endpoint if the order names one: of the account or, without an account, of
 * the relay.
 * @throws Problem when the URL rules forbid the URL, or when there is no such endpoint.
 */
async function testTarget(
  { callback_url: url, endpoint: name }: z.output<typeof TestOrder>,
  account: Account | null,
  { env, runtime, origin }: Sender,
): Promise<Pick<Delivery, "url" | "endpoint">> {
  if (name !== null) {
    const asked = await namedEndpoint(name, account?.id ?? null, "/endpoint", env);
    if (asked.kind === "unknown") throw unknownEndpoint(asked.field);
    const message = refusalOf(asked.url, runtime, origin, account !== null);
    if (message !== null) throw invalidRequest([{ path: "/endpoint", message }]);
    return { url: asked.url, endpoint: asked.copy };
  }
  requireAcceptable(url, runtime, origin, account !== null);
  return { url: url ?? "" };
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
