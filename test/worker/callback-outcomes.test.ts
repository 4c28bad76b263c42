import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { aKey, anAccount } from "./accounts.ts";
import { invalid, ORIGIN, post, refusal } from "./client.ts";
import { realMs, START_S, useClock } from "./clock.ts";
import { restart, untilIdle } from "./objects.ts";
import { type Answer, aReceiver, never, refused, status } from "./receiver.ts";
import { aCompletion, CALLBACK_URL, completed, finish, read, register, report } from "./tasks.ts";

useClock();

/** Answer that sends half a body, and then nothing until the sender stops waiting. */
const stalling =
  (code: number): Answer =>
  (signal) =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode("half"));
          signal.addEventListener("abort", () => controller.error(new Error("aborted")));
        },
      }),
      { status: code },
    );

/** Makes one attempt and returns the callback as GET shows it. */
async function callbackAfter(answer: Answer): Promise<unknown> {
  aReceiver(answer);
  const { callback } = await read(await completed());
  return callback;
}

it.each([
  ["delivered", "delivered", 204],
  ["redirected", "retrying", 307],
  ["rejected", "retrying", 500],
])(
  "a callback attempt has the outcome %s, and its callback the status %s, after a response with the HTTP status %i",
  async (outcome, state, code) => {
    const due = state === "retrying" ? { next_attempt_at: START_S + 180 } : {};
    expect(await callbackAfter(status(code))).toMatchObject({
      status: state,
      attempts: [{ number: 1, outcome, status_code: code }],
      ...due,
    });
  },
);

it.each([
  ["unreachable", 403, 1003],
  ["unreachable", 530, 1016],
  ["rejected", 403, 1020],
])(
  "a callback attempt has the outcome %s after a response with the status %i and Cloudflare's error code %i",
  async (outcome, code, error) => {
    const callback = await callbackAfter(status(code, `error code: ${error}`));
    expect(callback).toMatchObject({
      attempts: [{ outcome, status_code: code, cloudflare_error: error }],
    });
  },
);

it("a callback attempt has the outcome unreachable and no status_code when the connection fails", async () => {
  const callback = await callbackAfter(refused);
  expect(callback).toMatchObject({ status: "retrying", attempts: [{ outcome: "unreachable" }] });
  expect(JSON.stringify(callback)).not.toContain("status_code");
});

it("a callback attempt that gets a redirect has the outcome redirected; the operator sees the redirect's host, to which nothing is sent", async () => {
  const headers = { Location: "//elsewhere.example.net/", "Retry-After": "9".repeat(80) };
  const received = aReceiver(() => new Response("moved", { status: 307, headers }));
  const id = await completed();
  expect(received).toMatchObject([{ redirect: "manual" }]);
  const answer = {
    content_type: "text/plain;charset=UTF-8",
    location_host: "elsewhere.example.net",
  };
  const attempts = [{ outcome: "redirected", answer: { ...answer, retry_after: "9".repeat(64) } }];
  expect(await read(id)).toMatchObject({ callback: { attempts } });
});

it.each<[string, Answer, object]>([
  ["timeout when no answer comes", never, { outcome: "timeout" }],
  [
    "delivered when the body of a 200 never ends",
    stalling(200),
    { outcome: "delivered", status_code: 200, response_excerpt: "half" },
  ],
  [
    "rejected when the body of a 500 never ends",
    stalling(500),
    { outcome: "rejected", status_code: 500, response_excerpt: "half" },
  ],
])(
  "a callback attempt has the outcome %s within CALLBACK_TIMEOUT_S",
  async (_, answer, attempt) => {
    aReceiver(answer);
    const id = await register();
    // This is the shortest timeout that the configuration allows; the test waits for it in real time.
    await restart(id, { ...env, CALLBACK_TIMEOUT_S: "1" });
    await report(aCompletion(id));
    await realMs(1000);
    await untilIdle(id);
    expect(await read(id)).toMatchObject({ callback: { attempts: [attempt] } });
  },
);

it("when the relay's settings forbid a callback_url that they allowed at the registration, the callback attempt has the outcome blocked, and nothing is sent", async () => {
  const received = aReceiver();
  const id = await register();
  await restart(id, { ...env, PUBLIC_URL: "https://client.example.net" });
  await finish(aCompletion(id));
  expect(received).toEqual([]);
  expect(await read(id)).toMatchObject({
    callback: {
      status: "retrying",
      attempts: [{ number: 1, outcome: "blocked" }],
      next_attempt_at: START_S + 180,
    },
  });
});

it("of a receiver's response to a callback, the relay reads at most 4 KiB and stores the first 1 KiB as an excerpt", async () => {
  const state = { pulled: 0, canceled: false };
  const endless: Answer = () =>
    new Response(
      new ReadableStream(
        {
          pull(controller) {
            state.pulled += 512;
            controller.enqueue(new TextEncoder().encode("x".repeat(512)));
          },
          cancel() {
            state.canceled = true;
          },
        },
        { highWaterMark: 0 },
      ),
      { status: 500 },
    );
  expect(await callbackAfter(endless)).toMatchObject({
    attempts: [{ outcome: "rejected", response_excerpt: "x".repeat(1024) }],
  });
  expect(state.pulled).toBeLessThanOrEqual(4096 + 512);
  expect(state.canceled).toBe(true);
});

it("when a receiver's response to a callback is empty, the attempt is shown without an excerpt", async () => {
  expect(JSON.stringify(await callbackAfter(status(500)))).not.toContain("response_excerpt");
});

it("in the stored excerpt of a receiver's response, U+FFFD replaces U+0000 and bytes that are not text, and no character is cut in the middle", async () => {
  const bytes = new Uint8Array([0x22, 0xff, 0x00, 0x0a]);
  expect(await callbackAfter(() => new Response(bytes, { status: 400 }))).toMatchObject({
    attempts: [{ response_excerpt: '"\ufffd\ufffd\n' }],
  });
  const long = `x${"ü".repeat(600)}`;
  expect(await callbackAfter(status(400, long))).toMatchObject({
    attempts: [{ response_excerpt: expect.stringMatching(/^xü{511}$/) }],
  });
});

it("POST /v1/callbacks/test sends one sample callback, returns its outcome, its request and, to the operator, the response, and creates no task", async () => {
  const received = aReceiver(status(409, "error code: 1001, and the receiver's own words"));
  const objects = await listDurableObjectIds(env.TASKS);
  const response = await post("/v1/callbacks/test", { callback_url: CALLBACK_URL });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    outcome: "unreachable",
    status_code: 409,
    cause: "dns",
    cloudflare_error: 1001,
    duration_ms: 0,
    response_excerpt: "error code: 1001, and the receiver's own words",
    request: {
      method: "POST",
      url: CALLBACK_URL,
      headers: expect.anything(),
      body: received[0]?.body,
    },
  });
  const time = String(START_S);
  const headers = { "x-event": "task.completed", "x-attempt": "1", "x-timestamp": time };
  expect(received).toMatchObject([{ url: CALLBACK_URL, headers }]);
  const fields = ["id", "status", "model", "created_at", "completed_at", "output"];
  expect(Object.keys(JSON.parse(received[0]?.body ?? ""))).toEqual(fields);
  expect(await listDurableObjectIds(env.TASKS)).toHaveLength(objects.length);
});

it("POST /v1/callbacks/test does not show an account what the receiver answered", async () => {
  aReceiver(status(500, "the receiver's own words"));
  const { key } = await aKey(await anAccount());
  const response = await post("/v1/callbacks/test", { callback_url: CALLBACK_URL }, { key });
  const answer = await response.json();
  expect(answer).toMatchObject({ outcome: "rejected", status_code: 500 });
  expect(answer).not.toHaveProperty("response_excerpt");
});

it("POST /v1/callbacks/test with the status failed sends the sample callback of a failed task", async () => {
  const received = aReceiver(status(204));
  const body = { callback_url: CALLBACK_URL, status: "failed" };
  const response = await post("/v1/callbacks/test", body);
  const outcome = { outcome: "delivered", status_code: 204, duration_ms: 0 };
  expect(await response.json()).toMatchObject(outcome);
  expect(received[0]?.headers["x-event"]).toBe("task.failed");
  const fields = ["id", "status", "model", "created_at", "error"];
  expect(Object.keys(JSON.parse(received[0]?.body ?? ""))).toEqual(fields);
});

it.each([
  ["a missing callback_url", {}, "/callback_url"],
  [
    "a callback_url on the relay's own origin",
    { callback_url: `${ORIGIN}/v1/events` },
    "/callback_url",
  ],
  ["a local callback_url", { callback_url: "https://localhost:8443/" }, "/callback_url"],
  ["a callback_url with an IP address", { callback_url: "https://8.8.8.8/" }, "/callback_url"],
])("POST /v1/callbacks/test rejects %s and sends nothing", async (_, body, path) => {
  const received = aReceiver();
  const response = await post("/v1/callbacks/test", body);
  expect(await refusal(response)).toEqual(invalid(path));
  expect(received).toEqual([]);
});
