import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { attach, hooked, readHooked } from "./hooked.ts";
import { anOutside, answering } from "./outside.ts";
import { callWith, invalid, ProblemBody, refusal } from "./client.ts";
import { DAY_MS, START, START_S, useClock } from "./clock.ts";
import { expectUnchanged, restart, stored, wake } from "./objects.ts";
import { aCompletion, CALLBACK_URL, finish, read, register, report } from "./tasks.ts";

useClock();
beforeEach(() => {
  anOutside().on(CALLBACK_URL, answering("thank you"));
});

const KEYED = {
  ...env,
  ARK_API_KEY: "test-only-ark-key",
  FAL_KEY: "test-only-fal-key",
  CONNECTIONS: JSON.stringify({ "ark-2": { provider: "ark" } }),
};
const JOB = { provider: "ark", id: "cgt-1" };
const LOCALHOST = "http://localhost:8787";
/** A request that Cloudflare has taken in Frankfurt. */
const FROM_FRA = { cf: { colo: "FRA" } };
const FAL = "fal-ai/kling-video/v2/master/text-to-video";

function attachBody(id: string, body: unknown, bindings: object = env): Promise<Response> {
  return callWith(bindings, `/v1/tasks/${id}/upstream`, { body });
}

it("POST /v1/tasks/{id}/upstream answers with the task, which shows the attached job to the operator and keeps its deadline", async () => {
  const task = await hooked({ provider: "ark", fields: { deadline_at: START_S + 3600 } });
  const response = await attach(task, "cgt-1");
  expect(response.status).toBe(200);
  const answer = await response.json();
  const deadline_at = START_S + 3600;
  expect(answer).toMatchObject({ provider: "ark", upstream: { id: "cgt-1" }, deadline_at });
  expect(answer).toEqual(await readHooked(task));
});

it("when a job is attached to a task, the relay plans a first poll about a minute later, but none when it has no key for the provider", async () => {
  const keyed = await hooked({ provider: "ark", bindings: KEYED });
  const plain = await hooked({ provider: "ark" });
  await attach(keyed, "cgt-1");
  await attach(plain, "cgt-1");
  const { alarm } = await stored(keyed.id);
  expect(alarm).toBeGreaterThanOrEqual(START + 57_000);
  expect(alarm).toBeLessThanOrEqual(START + 63_000);
  expect((await stored(plain.id)).alarm).toBe(START + 3 * DAY_MS);
});

it.each([
  ["4 s when PUBLIC_URL names localhost, to which no provider can send a hook", LOCALHOST, {}, 4],
  ["4 s when PUBLIC_URL is not set, so that the task has got no hook URL", "", {}, 4],
  ["a minute when PUBLIC_URL is not set and Cloudflare has brought the request", "", FROM_FRA, 60],
])(
  "POST /v1/tasks/{id}/upstream schedules the first poll after about %s",
  async (_, PUBLIC_URL, message, waitS) => {
    const bindings = { ...KEYED, PUBLIC_URL };
    const id = await register();
    await restart(id, bindings);
    const asked = { body: JOB, ...message };
    const response = await callWith(bindings, `/v1/tasks/${id}/upstream`, asked);
    expect(response.status).toBe(200);
    const { alarm } = await stored(id);
    expect(alarm).toBeGreaterThanOrEqual(START + waitS * 950);
    expect(alarm).toBeLessThanOrEqual(START + waitS * 1_050);
  },
);

it("POST /v1/tasks/{id}/upstream attaches a job to a task registered without a provider, and to a task that an event created", async () => {
  const registered = await register();
  const created = crypto.randomUUID();
  await report({ id: created, status: "processing", model: "m" });
  for (const id of [registered, created]) {
    expect((await attachBody(id, JOB)).status).toBe(200);
    expect(await read(id)).toMatchObject({ provider: "ark", upstream: { id: "cgt-1" } });
  }
});

it("POST /v1/tasks/{id}/upstream answers a repeated attachment with the same bytes as before, and stores nothing", async () => {
  const task = await hooked({ provider: "ark", bindings: KEYED });
  const first = await (await attach(task, "cgt-1")).text();
  await expectUnchanged(task.id, async () => {
    const second = await attach(task, "cgt-1");
    expect([second.status, await second.text()]).toEqual([200, first]);
  });
});

it("for an ended task, POST /v1/tasks/{id}/upstream answers 200 when its body names the job that is already attached, and 409 task_settled for another job", async () => {
  const task = await hooked({ provider: "ark" });
  await attach(task, "cgt-1");
  await finish(aCompletion(task.id));
  await expectUnchanged(task.id, async () => {
    expect((await attach(task, "cgt-1")).status).toBe(200);
    const response = await attach(task, "cgt-2");
    const body = ProblemBody.parse(await response.json());
    expect([response.status, body.code]).toEqual([409, "task_settled"]);
    expect(body["task"]).toMatchObject({ id: task.id, status: "completed" });
  });
});

// The fuzz test of bodies compares every field with the contract; here are examples.
it.each<[string, unknown, readonly string[]]>([
  ["no fields", {}, ["/provider", "/id"]],
  ["an unknown provider", { ...JOB, provider: "nobody" }, ["/provider"]],
  ["the provider sandbox while the sandbox is off", { ...JOB, provider: "sandbox" }, ["/provider"]],
  [
    "a provider whose API key is required and not configured",
    { ...JOB, provider: "runway" },
    ["/provider"],
  ],
  [
    "another provider than the registration of the task",
    { ...JOB, provider: "kling" },
    ["/provider"],
  ],
  [
    "another connection (ark-2) than the registration of the task, to the same provider",
    { ...JOB, provider: "ark-2" },
    ["/provider"],
  ],
  ["a job id that contains a path", { ...JOB, id: "../keys" }, ["/id"]],
  ["an endpoint for a provider that has no endpoints", { ...JOB, endpoint: "a/b" }, ["/endpoint"]],
  ["an endpoint that contains '..'", { ...JOB, endpoint: "a/../b" }, ["/endpoint"]],
])(
  "when its body has %s, POST /v1/tasks/{id}/upstream answers 400, names the wrong field and changes nothing",
  async (_, body, paths) => {
    const task = await hooked({ provider: "ark", bindings: KEYED });
    await expectUnchanged(task.id, async () => {
      expect(await refusal(await attachBody(task.id, body, KEYED))).toEqual(invalid(...paths));
    });
  },
);

it("POST /v1/tasks/{id}/upstream accepts a job id of 512 characters in base64, which is percent-encoded as one path segment in the poll's URL", async () => {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on("https://ark.", answering({ id: "another", status: "running" }));
  const task = await hooked({ provider: "ark", bindings: KEYED });
  const id = `a/../${"b+".repeat(252)}c==`;
  expect(id).toHaveLength(512);
  expect(await refusal(await attach(task, `${id}=`))).toEqual(invalid("/id"));
  expect((await attach(task, id)).status).toBe(200);
  await wake(task.id, ((await stored(task.id)).alarm ?? NaN) - Date.now());
  const { pathname } = new URL(outside.sentTo("https://ark.")[0]?.url ?? "");
  expect(pathname).toBe(`/api/v3/contents/generations/tasks/${encodeURIComponent(id)}`);
});

it("when the provider is unknown, the error of POST /v1/tasks/{id}/upstream lists the connections that are configured", async () => {
  const body = { ...JOB, provider: "arc" };
  const text = await (await attachBody(crypto.randomUUID(), body, KEYED)).text();
  for (const name of ["ark", "ark-2", "replicate"]) expect(text).toContain(name);
  expect(text).not.toContain("test-only");
});

it("for a job of fal, POST /v1/tasks/{id}/upstream requires the field endpoint if fal's key is configured, and not otherwise", async () => {
  const keyed = await hooked({ provider: "fal", bindings: KEYED });
  expect(await refusal(await attach(keyed, "req-1"))).toEqual(invalid("/endpoint"));
  expect((await attach(keyed, "req-1", FAL)).status).toBe(200);
  expect(await readHooked(keyed)).toMatchObject({ upstream: { id: "req-1", endpoint: FAL } });
  expect((await attach(await hooked({ provider: "fal" }), "req-1")).status).toBe(200);
});

it.each([
  ["minimax", "v3"],
  ["kling", "v1/videos/text2video"],
  ["kling", "videos/avatar/image2video/x"],
  ["kling", "videos"],
  ["fal", "fal-ai"],
])(
  "POST /v1/tasks/{id}/upstream rejects an endpoint under which %s has no jobs: %s",
  async (provider, endpoint) => {
    const task = await hooked({ provider });
    const response = await attachBody(task.id, { provider, id: "1", endpoint });
    expect(await refusal(response)).toEqual(invalid("/endpoint"));
  },
);
