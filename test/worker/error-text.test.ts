import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { anOutside, answering } from "./outside.ts";
import { until, useClock } from "./clock.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const KEY = "ark-7f3c-test-only-key";
const Failed = z.looseObject({ error: z.object({ code: z.string(), message: z.string() }) });

interface UpstreamFailure {
  readonly code?: string;
  readonly message: string;
  readonly state?: string;
}

function arkTask({ code = "InternalServiceError", message, state = "failed" }: UpstreamFailure) {
  return { id: "cgt-1", status: state, error: { code, message } };
}

/** Lets Ark report a failure by a hook or by a poll; returns what the client and the operator read. */
async function failedTask(failure: UpstreamFailure, vars: object = {}, isPolled = false) {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  const bindings = { ...env, ...(isPolled && { ARK_API_KEY: KEY }), ...vars };
  const task = await hooked({ provider: "ark", bindings });
  const message = failure.message.replaceAll("HOOK_URL", task.hookUrl);
  outside.on("https://ark.", answering(arkTask({ ...failure, message })));
  await attach(task, "cgt-1");
  const response = await sendHook(task, JSON.stringify(arkTask({ ...failure, message })));
  if (response.status !== 200) throw new Error(await response.text());
  await until(() => outside.sentTo(CALLBACK_URL).length === 1);
  const [{ body } = { body: "" }] = outside.sentTo(CALLBACK_URL);
  const callback = Failed.parse(JSON.parse(body));
  return { callback, task: Failed.parse(await readHooked(task)), body };
}

describe.each([
  ["hook", false],
  ["poll", true],
])("the error text of a failure that a %s reports", (_, isPolled) => {
  it("the client gets the upstream's error text without signatures, secrets and the hook URL", async () => {
    const message =
      'No https://tos.example.com/a.png?X-Sig=abcdef from HOOK_URL, api_key="abcdef0123456789"';
    const { callback, task } = await failedTask({ message }, {}, isPolled);
    expect(callback.error).toEqual({
      code: "upstream_error",
      message:
        'No https://tos.example.com/a.png from https://relay.example.com/hooks/ark/… api_key="…"',
    });
    expect(task.error).toEqual(callback.error);
  });

  it("the client gets a generic text and the category when ERROR_TEXT is generic", async () => {
    const failure = { code: "OutputVideoSensitiveContentDetected", message: "Nudity in frame 7" };
    const { callback, task, body } = await failedTask(failure, { ERROR_TEXT: "generic" }, isPolled);
    const message = "The upstream reported a failure.";
    expect(callback.error).toEqual({ code: "upstream_error", message });
    expect(body).not.toMatch(/Nudity|Sensitive/);
    expect(task["failure"]).toEqual({ category: "moderation", retryable: false });
  });
});

it("the error text of a failure never contains the key of the connection", async () => {
  const { body } = await failedTask({ message: `Access denied for ${KEY}!` }, {}, true);
  expect(body).toContain("Access denied for …!");
  expect(body).not.toContain(KEY);
});

it.each<[string, UpstreamFailure, boolean]>([
  ["moderation", { code: "InputTextSensitiveContentDetected", message: "Refused" }, false],
  ["rate_limited", { code: "RateLimitExceeded", message: "Slow down" }, true],
  ["timeout", { message: "", state: "expired" }, true],
  ["canceled", { message: "", state: "cancelled" }, false],
  ["invalid_input", { code: "InvalidParameter", message: "Bad ratio" }, false],
  ["provider", { message: "Worker crashed" }, true],
])(
  "the failure category %s appears in GET and not in the callback",
  async (category, failure, retryable) => {
    const { callback, task } = await failedTask(failure);
    expect(task["failure"]).toEqual({ category, retryable });
    const members = ["created_at", "error", "id", "model", "status"];
    expect(Object.keys(callback).toSorted()).toEqual(members);
  },
);
