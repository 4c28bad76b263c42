import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { anOutside, answering } from "./outside.ts";
import { CALLBACK_URL, until, useClock } from "./support.ts";

useClock();

const GENERIC = "The upstream reported a failure.";
const KEY = "ark-7f3c-test-only-key";

interface Said {
  readonly code?: string;
  readonly message: string;
  readonly state?: string;
}

function arkTask({ code = "InternalServiceError", message, state = "failed" }: Said) {
  return { id: "cgt-1", status: state, error: { code, message } };
}

/** What the client and the operator read of a failure that Ark words so: by a hook, or by a poll. */
async function failureSaid(said: Said, vars: object = {}, isPolled = false) {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on("https://ark.", answering(arkTask(said)));
  const bindings = { ...env, ...(isPolled && { ARK_API_KEY: KEY }), ...vars };
  const task = await hooked({ provider: "ark", bindings });
  const message = said.message.replaceAll("HOOK_URL", task.hookUrl);
  outside.on("https://ark.", answering(arkTask({ ...said, message })));
  await attach(task, "cgt-1");
  const response = await sendHook(task, JSON.stringify(arkTask({ ...said, message })));
  if (response.status !== 200) throw new Error(await response.text());
  await until(() => outside.sentTo(CALLBACK_URL).length === 1);
  const [{ body } = { body: "" }] = outside.sentTo(CALLBACK_URL);
  const Failed = z.looseObject({ error: z.object({ code: z.string(), message: z.string() }) });
  const callback = Failed.parse(JSON.parse(body));
  return { callback, task: Failed.parse(await readHooked(task)), body };
}

/** A message of the upstream's, and what is left of it. */
const CLEANED: readonly [string, string, string][] = [
  [
    "a plain text",
    "The video is too long. Request id: 0217",
    "The video is too long. Request id: 0217",
  ],
  [
    "a signed URL",
    "Cannot read https://tos.example.com/a.png?X-Tos-Signature=abcdef, retry",
    "Cannot read https://tos.example.com/a.png retry",
  ],
  ["a fragment", "See https://example.com/a#access_token=abc now", "See https://example.com/a now"],
  ["a user name and password", "At https://ann:pw12345@example.com/a", "At https://example.com/a"],
  ["a bearer token", "Bad Authorization: Bearer abc12345xyz", "Bad Authorization: Bearer …"],
  ["a key by its prefix", "Key is sk-live0123456789abcdef.", "Key is …."],
  ["a secret by its name", 'Got api_key="abcdef0123456789" here', 'Got api_key="…" here'],
];

describe.each([
  ["told by a hook", false],
  ["told by a poll", true],
])("the upstream's text of a failure, %s", (_, isPolled) => {
  it.each(CLEANED)("reaches the client without what is secret: %s", async (_what, said, left) => {
    const { callback, task } = await failureSaid({ message: said }, {}, isPolled);
    expect(callback.error).toEqual({ code: "upstream_error", message: left });
    expect(task.error).toEqual(callback.error);
  });

  it("reaches the client without our own hook URL", async () => {
    const message = "No answer from HOOK_URL within 5 s";
    const { body } = await failureSaid({ message }, {}, isPolled);
    expect(body).toContain("No answer from https://relay.example.com/hooks/ark/…");
    expect(body).not.toMatch(/hooks\/ark\/[0-9a-f]/);
  });

  it("is kept back with ERROR_TEXT=generic; the category stays", async () => {
    const said = { code: "OutputVideoSensitiveContentDetected", message: "Nudity in frame 7" };
    const { callback, task, body } = await failureSaid(said, { ERROR_TEXT: "generic" }, isPolled);
    expect(callback.error).toEqual({ code: "upstream_error", message: GENERIC });
    expect(body).not.toMatch(/Nudity|Sensitive/);
    expect(task["failure"]).toEqual({ category: "moderation", retryable: false });
  });

  it("is at most 1 KB", async () => {
    const { callback } = await failureSaid({ message: "ä".repeat(5000) }, {}, isPolled);
    const { length } = new TextEncoder().encode(callback.error.message);
    expect(length).toBeLessThanOrEqual(1024);
    expect(length).toBeGreaterThan(900);
  });
});

describe("the key of the connection", () => {
  it("is never in the text, in whatever words it comes", async () => {
    const { body } = await failureSaid({ message: `Access denied for ${KEY}!` }, {}, true);
    expect(body).toContain("Access denied for …!");
    expect(body).not.toContain(KEY);
  });
});

describe("the category of a failure", () => {
  const CATEGORIES: readonly [string, Said, boolean][] = [
    ["moderation", { code: "InputTextSensitiveContentDetected", message: "Refused" }, false],
    ["rate_limited", { code: "RateLimitExceeded", message: "Slow down" }, true],
    ["timeout", { message: "", state: "expired" }, true],
    ["canceled", { message: "", state: "cancelled" }, false],
    ["invalid_input", { code: "InvalidParameter", message: "Bad ratio" }, false],
    ["provider", { message: "Worker crashed" }, true],
  ];

  it.each(CATEGORIES)(
    "%s is in GET, and not in the callback",
    async (category, said, retryable) => {
      const { callback, task } = await failureSaid(said);
      expect(task["failure"]).toEqual({ category, retryable });
      const members = ["created_at", "error", "id", "model", "status"];
      expect(Object.keys(callback).toSorted()).toEqual(members);
    },
  );
});
