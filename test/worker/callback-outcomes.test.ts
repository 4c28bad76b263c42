import { describe, expect, it } from "vitest";
import { type Answer, aReceiver, never, refused, status } from "./receiver.ts";
import { env } from "cloudflare:workers";
import { restart } from "./instance.ts";
import {
  aCompletion,
  atRest,
  completed,
  post,
  read,
  realMs,
  register,
  START_S,
  useClock,
} from "./support.ts";

useClock();

/** Half a body, then silence until the sender gives up. */
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

async function attemptAt(answer: Answer): Promise<unknown> {
  aReceiver(answer);
  const { callback } = await read(await completed());
  return callback;
}

describe("the outcome of an attempt", () => {
  it.each([200, 201, 202, 204, 226, 299])("is delivered for %i", async (code) => {
    expect(await attemptAt(status(code))).toMatchObject({
      status: "delivered",
      attempts: [{ outcome: "delivered", status_code: code }],
    });
  });

  it.each([
    [300, "redirected"],
    [301, "redirected"],
    [302, "redirected"],
    [304, "redirected"],
    [307, "redirected"],
    [308, "redirected"],
    [400, "rejected"],
    [401, "rejected"],
    [404, "rejected"],
    [410, "rejected"],
    [429, "rejected"],
    [500, "rejected"],
    [503, "rejected"],
    [520, "rejected"],
    [521, "unreachable"],
    [522, "unreachable"],
    [523, "unreachable"],
    [524, "timeout"],
    [525, "unreachable"],
    [526, "unreachable"],
    [527, "rejected"],
    [530, "unreachable"],
    [599, "rejected"],
  ])("is for %i %s, and another attempt follows", async (code, outcome) => {
    expect(await attemptAt(status(code))).toMatchObject({
      status: "sending",
      attempts: [{ number: 1, outcome, status_code: code }],
      next_attempt_at: START_S + 180,
    });
  });

  it("is unreachable, without a status, when the connection fails", async () => {
    const callback = await attemptAt(refused);
    expect(callback).toMatchObject({ status: "sending", attempts: [{ outcome: "unreachable" }] });
    expect(JSON.stringify(callback)).not.toContain("status_code");
  });

  it("does not come later because the receiver asks for it with Retry-After", async () => {
    const headers = { "Retry-After": "86400" };
    expect(await attemptAt(() => new Response("busy", { status: 429, headers }))).toMatchObject({
      next_attempt_at: START_S + 180,
    });
  });

  it("asks a redirect's target nothing", async () => {
    const headers = { Location: "https://elsewhere.example.net/" };
    const received = aReceiver(() => new Response(null, { status: 307, headers }));
    await completed();
    expect(received).toHaveLength(1);
    expect(received[0]?.redirect).toBe("manual");
  });
});

describe("one deadline", () => {
  it.each<[string, Answer, object]>([
    ["no answer at all is a timeout", never, { outcome: "timeout" }],
    [
      "a 200 whose body never ends is delivered",
      stalling(200),
      { outcome: "delivered", status_code: 200, response_excerpt: "half" },
    ],
    [
      "a 500 whose body never ends is rejected",
      stalling(500),
      { outcome: "rejected", status_code: 500, response_excerpt: "half" },
    ],
  ])("covers the whole attempt: %s", async (_, answer, attempt) => {
    aReceiver(answer);
    const id = await register();
    // The shortest that the configuration allows, in real time.
    await restart(id, { ...env, CALLBACK_TIMEOUT_S: "1" });
    await post("/v1/events", aCompletion(id));
    await realMs(1000);
    await atRest(id);
    expect(await read(id)).toMatchObject({ callback: { attempts: [attempt] } });
  });
});

describe("the answer of a receiver", () => {
  it("is kept up to 1 KiB and read up to 4 KiB, and the rest is cancelled", async () => {
    let pulled = 0;
    let canceled = false;
    const endless: Answer = () =>
      new Response(
        new ReadableStream(
          {
            pull(controller) {
              pulled += 512;
              controller.enqueue(new TextEncoder().encode("x".repeat(512)));
            },
            cancel() {
              canceled = true;
            },
          },
          { highWaterMark: 0 },
        ),
        { status: 500 },
      );
    expect(await attemptAt(endless)).toMatchObject({
      attempts: [{ outcome: "rejected", response_excerpt: "x".repeat(1024) }],
    });
    expect(pulled).toBeLessThanOrEqual(4096 + 512);
    expect(canceled).toBe(true);
  });

  it("is left out when it is empty", async () => {
    expect(JSON.stringify(await attemptAt(status(500)))).not.toContain("response_excerpt");
  });

  it("is kept as text also when it is not, and when a character is cut", async () => {
    const bytes = new Uint8Array([0x22, 0xff, 0x00, 0x0a]);
    expect(await attemptAt(() => new Response(bytes, { status: 400 }))).toMatchObject({
      attempts: [{ response_excerpt: '"\ufffd\u0000\n' }],
    });
    const long = `x${"ü".repeat(600)}`;
    expect(await attemptAt(status(400, long))).toMatchObject({
      attempts: [{ response_excerpt: expect.stringMatching(/^xü{511}\ufffd?$/) }],
    });
  });
});

describe("a callback_url that the policy refuses by now", () => {
  it("is blocked before anything is sent, and counts", async () => {
    const received = aReceiver();
    const id = await register();
    await restart(id, { ...env, PUBLIC_URL: "https://client.example.net" });
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    expect(received).toEqual([]);
    expect(await read(id)).toMatchObject({
      callback: {
        status: "sending",
        attempts: [{ number: 1, outcome: "blocked" }],
        next_attempt_at: START_S + 180,
      },
    });
  });
});
