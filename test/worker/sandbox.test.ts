import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { sandbox } from "../../src/providers/sandbox/sandbox.ts";
import { anOutside, answering, type Outside } from "./outside.ts";
import { callWith, invalid, refusal } from "./client.ts";
import { START, useClock } from "./clock.ts";
import { NOTHING, restart, stored, untilIdle, wake } from "./objects.ts";
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

/**
 * Models, each with its result and the earliest and latest second after the registration at which the result
 * comes.
 */
const MODELS: readonly [string, object, number, number][] = [
  ["sandbox/ok", SUCCESS, 3.8, 4.2],
  ["sandbox/moderated", MODERATED, 3.8, 4.2],
  ["sandbox/lost-hook", SUCCESS, 15, 18],
  ["sandbox/slow", SUCCESS, 45, 49],
  // The deadline of 20 s is extended once by a quarter; a poll just before it may delay it by a second.
  ["sandbox/late", LATE, 25, 28],
];

function registered(model: string, bindings: object, id: string): Promise<Response> {
  const body = { id, model, provider: "sandbox", callback_url: CALLBACK_URL };
  return callWith(bindings, "/v1/tasks", { body });
}

/**
 * Runs every alarm at its time until the task has ended; returns the seconds that this took on the clock of
 * the test.
 */
async function runToEnd(id: string): Promise<number> {
  for (let alarms = 0; alarms < 40; alarms++) {
    const { status } = await read(id);
    if (status === "completed" || status === "failed") {
      await untilIdle(id);
      return (Date.now() - START) / 1000;
    }
    await wake(id, ((await stored(id)).alarm ?? NaN) - Date.now());
  }
  throw new Error("the task did not end within 40 alarms");
}

it("the provider sandbox, which simulates jobs, offers exactly the models in the list of this test", () => {
  const error = `must be one of ${MODELS.map(([model]) => model).join(", ")}`;
  expect(sandbox.simulation.start("sandbox", null)).toEqual({ ok: false, error });
});

it.each(MODELS.map(([model]) => model))(
  "a submission of the model %s to the provider sandbox starts the same job as a registration of it would, and gets the job's id at once",
  (model) => {
    const { start, answer } = sandbox.simulation;
    expect(start(model, "/jobs")).toEqual(start(model, null));
    expect(answer(model, "/jobs", START)).toEqual({
      body: { id: model, status: "queued" },
      afterMs: 0,
    });
  },
);

it.each([
  ["/jobs", "sandbox/image", MODELS.map(([model]) => model).join(", ")],
  ["/images/generations", "sandbox/ok", "sandbox/image"],
])(
  "a submission to the provider sandbox at %s of the model %s, which it does not simulate there, is refused with the names of those that it does",
  async (path, model, known) => {
    const response = await callWith(WITH, `/v1/submit/sandbox${path}`, { body: { model } });
    expect(await response.clone().text()).toContain(known);
    expect(await refusal(response)).toEqual(invalid("/model"));
  },
);

it.each(["/job", "/jobs/sandbox/ok", "/JOBS"])(
  "a call of the provider sandbox at the path %j is refused, and the refusal names the paths for submissions",
  async (path) => {
    const body = { model: "sandbox/ok" };
    const response = await callWith(WITH, `/v1/submit/sandbox${path}`, { body });
    expect(await response.clone().text()).toContain("Its paths are /jobs and /images/generations.");
    expect(await refusal(response)).toEqual({ status: 404, code: "not_found" });
  },
);

it.each([
  ["sandbox/slow", 9_000, "20 %", 20],
  ["sandbox/slow", 45_000, "unknown", null],
  ["sandbox/late", 9_000, "0 %", 0],
])(
  "the provider sandbox reports the progress of a job of the model %s, %i ms after its start, as %s",
  (id, ageMs, _, progress) => {
    const observation = sandbox.simulation.observe({ id, endpoint: null }, ageMs);
    expect(observation.progress).toBe(progress);
  },
);

it.each(MODELS)(
  "the provider sandbox ends a task of the model %s with the result and at the time that this test lists, and calls no provider",
  async (model, end, from, to) => {
    const outside = callbacksAnswered();
    const id = crypto.randomUUID();
    await restart(id, WITH);
    const answer = await registered(model, WITH, id);
    expect(answer.status).toBe(201);
    const task = await answer.json();
    expect(task).toMatchObject({ status: "pending", upstream: { id: model } });
    expect(task).not.toHaveProperty("hook_url");
    const seconds = await runToEnd(id);
    expect(seconds).toBeGreaterThanOrEqual(from);
    expect(seconds).toBeLessThanOrEqual(to);
    expect(await read(id)).toMatchObject({ ...end, callback: { status: "delivered" } });
    expect(outside.sentTo("").map(({ url }) => url)).toEqual([CALLBACK_URL]);
  },
);

it.each(["sandbox/other", "sandbox", "seedance"])(
  "POST /v1/tasks with the provider sandbox and the model %s, which the sandbox does not simulate, is refused with the names of its models",
  async (model) => {
    const id = crypto.randomUUID();
    const response = await registered(model, WITH, id);
    const text = await response.clone().text();
    expect(await refusal(response)).toEqual(invalid("/model"));
    for (const [known] of MODELS) expect(text).toContain(known);
    expect(await stored(id)).toEqual(NOTHING);
  },
);

it("unless SANDBOX is on, a registration with the provider sandbox is rejected in the same way as one with an unknown provider", async () => {
  const id = crypto.randomUUID();
  const response = await registered("sandbox/ok", { ...env, SANDBOX: "false" }, id);
  expect(await refusal(response)).toEqual(invalid("/provider"));
  expect(await stored(id)).toEqual(NOTHING);
});

function callbacksAnswered(): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  return outside;
}
