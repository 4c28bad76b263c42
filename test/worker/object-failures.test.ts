import { expect, it, vi } from "vitest";
import { answerTo, aRequest, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { hooked } from "./hooked.ts";
import { failing } from "./objects.ts";
import { aCompletion } from "./tasks.ts";

useClock();

/**
 * Names of failures in the log, each with the text of the platform's error or the property that the platform
 * sets on it.
 */
const FAILURES: readonly (readonly [reason: string, text: string, flag: string])[] = [
  ["overloaded", "Durable Object is overloaded. Too many requests queued.", "remote"],
  ["durableObjectReset", "reset", "durableObjectReset"],
  ["retryable", "gone", "retryable"],
  ["connection_lost", "Network connection lost.", "remote"],
  ["platform_error", "internal error; reference = 0123456789abcdef", "remote"],
  ["free_plan_quota", "Exceeded allowed rows written in Durable Objects free tier.", "remote"],
  ["spending_limit", "Exceeded the account's spending cap for Durable Objects", "remote"],
  ["account_overloaded", "Your account is generating too much load on Durable Objects.", "remote"],
  ["object_replaced", "Connection closed: Durable Object is no longer active", "remote"],
  [
    "earlier_release",
    'The RPC receiver does not implement the method "rewriteIndexRow".',
    "remote",
  ],
  ["later_release", "an event of a later release: archive", "remote"],
];

/** Returns requests of upstreams, which might not repeat them after status 500. */
function upstreamRequests(id: string, hookUrl: string): readonly Request[] {
  const hook = JSON.stringify({ id: "cgt-1", status: "running" });
  return [
    aRequest(new URL(hookUrl).pathname, { body: hook, key: null }),
    aRequest("/v1/events", { body: aCompletion(id) }),
    aRequest("/v1/events", { body: aCompletion(id, { model: "m", account: crypto.randomUUID() }) }),
  ];
}

function clientRequests(id: string): readonly Request[] {
  return [
    aRequest(`/v1/tasks/${id}/upstream`, { body: { provider: "ark", id: "cgt-1" } }),
    aRequest("/v1/tasks", { body: { id, model: "m" } }),
    aRequest(`/v1/tasks/${id}`),
    aRequest(`/v1/tasks/${id}`, { key: "a-key-that-no-isolate-has-seen" }),
    aRequest(`/v1/tasks/${id}`, { method: "DELETE" }),
    aRequest(`/v1/tasks/${id}/redeliver`, { method: "POST" }),
    aRequest(`/v1/tasks/${id}/cancel`, { method: "POST" }),
    aRequest("/v1/accounts", { body: { id: "acme" } }),
    aRequest("/v1/accounts/acme"),
    aRequest("/v1/accounts/acme/grants", { body: { reference: "a", amount: 1 } }),
    aRequest("/v1/accounts/acme/keys", { body: {} }),
  ];
}

async function expectUnavailable(response: Response): Promise<void> {
  expect(response.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
  expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
}

it.each(FAILURES)(
  "when Durable Objects fail for the reason %s, every route answers 503 with Retry-After, and the log names the reason",
  async (reason, text, flag) => {
    const error = Object.assign(new Error(text), { [flag]: true });
    const { id, hookUrl } = await hooked({ provider: "ark" });
    const requests = [...upstreamRequests(id, hookUrl), ...clientRequests(id)];
    const warnings = vi.spyOn(console, "warn");
    for (const request of requests)
      await expectUnavailable(await answerTo(request, failing(error)));
    const named = warnings.mock.calls.filter(([line]) =>
      String(line).includes(`"reason":"${reason}"`),
    );
    expect(named).toHaveLength(requests.length);
  },
);

it("when a Durable Object fails with an unknown error, hooks and events get 503, and all other requests get 500", async () => {
  const { id, hookUrl } = await hooked({ provider: "ark" });
  const bindings = failing(new TypeError("Cannot read properties of undefined (reading 'foo')"));
  const errors = vi.spyOn(console, "error");
  const requests = upstreamRequests(id, hookUrl);
  for (const request of requests) await expectUnavailable(await answerTo(request, bindings));
  expect(errors.mock.calls.join()).toContain("reading 'foo'");
  for (const request of clientRequests(id)) {
    expect((await answerTo(request, bindings)).status).toBe(500);
  }
});
