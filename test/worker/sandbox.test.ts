import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { sandbox } from "../../src/providers/sandbox.ts";
import { anOutside, answering, type Outside } from "./outside.ts";
import { aRequest, refusal } from "./client.ts";
import { START, useClock } from "./clock.ts";
import { NOTHING, restart, stored, stubOf, untilIdle } from "./objects.ts";
import { CALLBACK_URL, read } from "./tasks.ts";

useClock();

const WITH = { ...env, SANDBOX: "true" };
const METADATA = {
  seed: 42,
  ratio: "16:9",
  duration: 5,
  resolution: "720p",
  generate_audio: false,
  framespersecond: 24,
};
const SUCCESS = {
  status: "completed",
  output: { urls: ["https://example.com/sandbox.mp4"], metadata: METADATA },
};
const MODERATED = {
  status: "failed",
  error: {
    code: "upstream_error",
    message: "The request failed because the output video may contain sensitive information.",
  },
  failure: { category: "moderation", retryable: false },
};
const LATE = {
  status: "failed",
  error: { code: "upstream_timeout" },
  failure: { category: "timeout", retryable: true },
};

/** A model, its end, and between which seconds after the registration it comes. */
const MODELS: readonly [string, object, number, number][] = [
  ["sandbox/ok", SUCCESS, 2, 3],
  ["sandbox/moderated", MODERATED, 2, 3],
  ["sandbox/lost-hook", SUCCESS, 15, 35],
  ["sandbox/slow", SUCCESS, 45, 80],
  // The deadline of 20 s is put off once, by a quarter; a poll just before may cost a second each time.
  ["sandbox/late", LATE, 25, 28],
];

function registered(model: string, bindings: object, id: string): Promise<Response> {
  const body = { id, model, provider: "sandbox", callback_url: CALLBACK_URL };
  return Promise.resolve(app.fetch(aRequest("/v1/tasks", { body }), bindings));
}

/** Lets every alarm come when it is due until the task has ended; the seconds that it took. */
async function playedOut(id: string): Promise<number> {
  for (let alarms = 0; alarms < 20; alarms++) {
    const { status } = await read(id);
    if (status === "completed" || status === "failed") {
      await untilIdle(id);
      return (Date.now() - START) / 1000;
    }
    vi.setSystemTime((await stored(id)).alarm ?? NaN);
    await runDurableObjectAlarm(stubOf(id));
  }
  throw new Error("it did not end");
}

describe("the sandbox", () => {
  it("has no models beyond those tested here", () => {
    const error = `must be one of ${MODELS.map(([model]) => model).join(", ")}`;
    expect(sandbox.simulation.start("sandbox")).toEqual({ ok: false, error });
  });

  it.each(MODELS)("plays %s to its end without any upstream", async (model, end, from, to) => {
    const outside = callbacksAnswered();
    const id = crypto.randomUUID();
    await restart(id, WITH);
    const answer = await registered(model, WITH, id);
    expect(answer.status).toBe(201);
    expect(await answer.json()).toMatchObject({ status: "pending", upstream: { id: model } });
    const seconds = await playedOut(id);
    expect(seconds).toBeGreaterThanOrEqual(from);
    expect(seconds).toBeLessThanOrEqual(to);
    expect(await read(id)).toMatchObject({ ...end, callback: { status: "delivered" } });
    expect(outside.sentTo("").map(({ url }) => url)).toEqual([CALLBACK_URL]);
  });

  it("shows a task at work as processing, and the last poll as the end of it", async () => {
    callbacksAnswered();
    const id = crypto.randomUUID();
    await restart(id, WITH);
    await registered("sandbox/slow", WITH, id);
    vi.setSystemTime((await stored(id)).alarm ?? NaN);
    await runDurableObjectAlarm(stubOf(id));
    expect(await read(id)).toMatchObject({ status: "processing", callback: { status: "waiting" } });
  });

  it("has no hook URL, because nobody would call it", async () => {
    const id = crypto.randomUUID();
    await restart(id, WITH);
    const text = await (await registered("sandbox/ok", WITH, id)).text();
    expect(text).not.toMatch(/hook/);
  });

  it.each(["sandbox/other", "sandbox", "seedance"])("refuses the model %s", async (model) => {
    const id = crypto.randomUUID();
    const response = await registered(model, WITH, id);
    const text = await response.clone().text();
    expect(await refusal(response)).toEqual({
      status: 400,
      code: "invalid_request",
      paths: ["/model"],
    });
    for (const [known] of MODELS) expect(text).toContain(known);
    expect(await stored(id)).toEqual(NOTHING);
  });

  it("is unknown unless SANDBOX is on", async () => {
    const id = crypto.randomUUID();
    const response = await registered("sandbox/ok", { ...env, SANDBOX: "false" }, id);
    expect(await refusal(response)).toEqual({
      status: 400,
      code: "invalid_request",
      paths: ["/provider"],
    });
    expect(await stored(id)).toEqual(NOTHING);
  });

  it("is told at /healthz", async () => {
    expect(await health(WITH)).toMatchObject({ configuration: { SANDBOX: true } });
    expect(await health(env)).toMatchObject({ configuration: { SANDBOX: false } });
  });
});

function callbacksAnswered(): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  return outside;
}

async function health(bindings: object): Promise<unknown> {
  return (await app.fetch(aRequest("/healthz"), bindings)).json();
}
