import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { aKey, anAccount, priced } from "./accounts.ts";
import { attach, hooked, readHooked } from "./hooked.ts";
import { restart } from "./instance.ts";
import { anOutside, answering } from "./outside.ts";
import {
  aCompletion,
  aRequest,
  CALLBACK_URL,
  completed,
  NOTHING,
  post,
  ProblemBody,
  read,
  refusal,
  register,
  START,
  START_S,
  stored,
  until,
  useClock,
} from "./support.ts";

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
const FAL = "fal-ai/kling-video/v2/master/text-to-video";

function attachBody(id: string, body: unknown, bindings: object = env): Promise<Response> {
  return Promise.resolve(app.fetch(aRequest(`/v1/tasks/${id}/upstream`, { body }), bindings));
}

describe("POST /v1/tasks/{id}/upstream", () => {
  it("answers with the task, in which the operator sees the job", async () => {
    const task = await hooked({ provider: "ark" });
    const response = await attach(task, "cgt-1");
    expect(response.status).toBe(200);
    const answer = await response.json();
    expect(answer).toMatchObject({ provider: "ark", upstream: { id: "cgt-1" } });
    expect(answer).toEqual(await readHooked(task));
  });

  it("keeps the endpoint that a provider needs", async () => {
    const task = await hooked({ provider: "fal", bindings: KEYED });
    expect((await attach(task, "req-1", FAL)).status).toBe(200);
    expect(await readHooked(task)).toMatchObject({ upstream: { id: "req-1", endpoint: FAL } });
  });

  it("asks the upstream 15 s later, or up to a fifth more, where there is a key", async () => {
    const keyed = await hooked({ provider: "ark", bindings: KEYED });
    const plain = await hooked({ provider: "ark" });
    await attach(keyed, "cgt-1");
    await attach(plain, "cgt-1");
    const { alarm } = await stored(keyed.id);
    expect(alarm).toBeGreaterThanOrEqual(START + 15_000);
    expect(alarm).toBeLessThanOrEqual(START + 18_000);
    expect((await stored(plain.id)).alarm).toBe(START + 72 * 3_600_000);
  });

  it("shows neither connection nor job to the account that owns the task", async () => {
    const account = await anAccount(5);
    const { key } = await aKey(account);
    const { id, ...rest } = priced(account, 1, { provider: "ark" });
    await post("/v1/tasks", { id, ...rest });
    await attachBody(id, JOB);
    const text = await (await app.fetch(aRequest(`/v1/tasks/${id}`, { key }), env)).text();
    expect(text).toContain(id);
    expect(text).not.toMatch(/upstream|provider|cgt-1/);
  });

  it("attaches to a task that was registered without a provider, or created by an event", async () => {
    const registered = await register();
    const created = crypto.randomUUID();
    await post("/v1/events", { id: created, status: "processing", model: "m" });
    for (const id of [registered, created]) {
      expect((await attachBody(id, JOB)).status).toBe(200);
      expect(await read(id)).toMatchObject({ provider: "ark", upstream: { id: "cgt-1" } });
    }
  });

  it("changes nothing when it is repeated, and is no new version", async () => {
    const task = await hooked({ provider: "ark", bindings: KEYED });
    const first = await attach(task, "cgt-1");
    const before = await stored(task.id);
    const second = await attach(task, "cgt-1");
    expect([second.status, await second.text()]).toEqual([200, await first.text()]);
    expect(await stored(task.id)).toEqual(before);
  });

  it("takes another job, or another endpoint, instead of the first", async () => {
    const task = await hooked({ provider: "kling" });
    await attach(task, "1");
    await attach(task, "2");
    expect(await readHooked(task)).toMatchObject({ upstream: { id: "2" } });
    await attach(task, "2", "videos/text2video");
    expect(await readHooked(task)).toMatchObject({
      upstream: { id: "2", endpoint: "videos/text2video" },
    });
  });
});

describe("a terminal task", () => {
  it("answers a new job with 409 task_settled and the task", async () => {
    const task = await hooked({ provider: "ark" });
    await post("/v1/events", aCompletion(task.id));
    const response = await attach(task, "cgt-1");
    const body = ProblemBody.parse(await response.json());
    expect([response.status, body.code]).toEqual([409, "task_settled"]);
    expect(body["task"]).toMatchObject({ id: task.id, status: "completed" });
  });

  it("answers the job that it had with 200", async () => {
    const task = await hooked({ provider: "ark" });
    await attach(task, "cgt-1");
    await post("/v1/events", aCompletion(task.id));
    await until(async () => JSON.stringify(await readHooked(task)).includes("delivered_at"));
    const before = await stored(task.id);
    expect((await attach(task, "cgt-1")).status).toBe(200);
    expect((await attach(task, "cgt-2")).status).toBe(409);
    expect(await stored(task.id)).toEqual(before);
  });
});

describe("an attachment that is refused", () => {
  /** Bodies that are at fault, with the paths of the issues. */
  const INVALID: readonly [string, unknown, readonly string[]][] = [
    ["nothing", {}, ["/provider", "/id"]],
    ["no id", { provider: "ark" }, ["/id"]],
    ["no provider", { id: "cgt-1" }, ["/provider"]],
    ["an unknown provider", { ...JOB, provider: "nobody" }, ["/provider"]],
    ["the sandbox while it is off", { ...JOB, provider: "sandbox" }, ["/provider"]],
    ["a provider that needs a key", { ...JOB, provider: "runway" }, ["/provider"]],
    ["another provider than registered", { ...JOB, provider: "kling" }, ["/provider"]],
    ["another connection than registered", { ...JOB, provider: "ark-2" }, ["/provider"]],
    ["an unknown field", { ...JOB, job: "x" }, ["/job"]],
    ["an empty id", { ...JOB, id: "" }, ["/id"]],
    ["an id that climbs", { ...JOB, id: "../keys" }, ["/id"]],
    ["an id with a query", { ...JOB, id: "a?b=c" }, ["/id"]],
    ["an id with a space", { ...JOB, id: "a b" }, ["/id"]],
    ["an id of 257 characters", { ...JOB, id: "a".repeat(257) }, ["/id"]],
    ["a number for an id", { ...JOB, id: 17 }, ["/id"]],
    ["an endpoint that is not used", { ...JOB, endpoint: "a/b" }, ["/endpoint"]],
    ["an endpoint that climbs", { ...JOB, endpoint: "a/../b" }, ["/endpoint"]],
    ["an endpoint that begins with a slash", { ...JOB, endpoint: "/a" }, ["/endpoint"]],
    ["an endpoint that is a URL", { ...JOB, endpoint: "https://a.example" }, ["/endpoint"]],
    ["an endpoint with a query", { ...JOB, endpoint: "a?b" }, ["/endpoint"]],
  ];

  it.each(INVALID)("is 400 with issues: %s", async (_, body, paths) => {
    const task = await hooked({ provider: "ark", bindings: KEYED });
    const before = await stored(task.id);
    const response = await attachBody(task.id, body, KEYED);
    expect(await refusal(response)).toEqual({ status: 400, code: "invalid_request", paths });
    expect(await stored(task.id)).toEqual(before);
  });

  it("says which connections there are", async () => {
    const body = { ...JOB, provider: "arc" };
    const text = await (await attachBody(crypto.randomUUID(), body, KEYED)).text();
    for (const name of ["ark", "ark-2", "replicate"]) expect(text).toContain(name);
    expect(text).not.toContain("test-only");
  });

  it("needs fal's endpoint only where there is a key to ask with", async () => {
    const keyed = await hooked({ provider: "fal", bindings: KEYED });
    expect(await refusal(await attach(keyed, "req-1"))).toEqual({
      status: 400,
      code: "invalid_request",
      paths: ["/endpoint"],
    });
    expect((await attach(await hooked({ provider: "fal" }), "req-1")).status).toBe(200);
  });

  it.each([
    ["minimax", "v3"],
    ["kling", "v1/videos/text2video"],
    ["kling", "videos"],
    ["fal", "fal-ai"],
  ])("refuses an endpoint under which %s could not be asked: %s", async (provider, endpoint) => {
    const task = await hooked({ provider });
    const response = await attachBody(task.id, { provider, id: "1", endpoint });
    expect(await refusal(response)).toEqual({
      status: 400,
      code: "invalid_request",
      paths: ["/endpoint"],
    });
  });

  it("is 404 for an unknown task, and leaves nothing behind", async () => {
    const id = crypto.randomUUID();
    await restart(id, KEYED);
    expect(await refusal(await attachBody(id, JOB))).toEqual({ status: 404, code: "unknown_task" });
    expect(await refusal(await attachBody("none", JOB))).toEqual({
      status: 404,
      code: "unknown_task",
    });
    expect(await stored(id)).toEqual(NOTHING);
  });

  it("is 401 without a key and 403 for the key of an account, even its own task's", async () => {
    const account = await anAccount();
    const { key } = await aKey(account);
    const id = await register({ account });
    const path = `/v1/tasks/${id}/upstream`;
    const before = await stored(id);
    expect(await refusal(await post(path, JOB, { key: null }))).toEqual({
      status: 401,
      code: "unauthenticated",
    });
    expect(await refusal(await post(path, JOB, { key }))).toEqual({
      status: 403,
      code: "operator_only",
    });
    expect(await stored(id)).toEqual(before);
  });

  it("is 405 for other methods", async () => {
    const id = await completed();
    const request = aRequest(`/v1/tasks/${id}/upstream`, { method: "GET" });
    expect((await app.fetch(request, env)).headers.get("Allow")).toBe("POST");
  });
});

describe("the deadline", () => {
  it("stays where the registration put it", async () => {
    const task = await hooked({ provider: "ark", fields: { deadline_at: START_S + 3600 } });
    await attach(task, "cgt-1");
    expect(await readHooked(task)).toMatchObject({ deadline_at: START_S + 3600 });
  });
});
