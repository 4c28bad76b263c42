import { describe, expect, it } from "vitest";
import { RelayProblem, TaskRelay } from "../../client/src/index.ts";
import {
  ACCEPTED,
  accepted,
  answer,
  connect,
  ID,
  outcomeOf,
  refusal,
  type Scripted,
  UNAVAILABLE,
  useFakeTime,
} from "./scripted-relay.ts";

useFakeTime();

const BODY = '{"model": "m", "seed": 9007199254740993}';
const RUNNING = refusal(409, "submission_running", { "Retry-After": "20" });

describe("the client's submit", () => {
  it("the client's submit posts the body unchanged to the upstream's path at the relay, and returns the upstream's answer with the task", async () => {
    const { relay, http } = connect(accepted());
    const headers = { "Content-Type": "application/json", "X-Trace": "t" };
    const init = { body: BODY, headers, query: "a=1&b=%2F" };
    const { taskId, statusUrl, response } = await relay.submit("ark", "/v3/tasks", init);
    expect([taskId, statusUrl]).toEqual([ID, "https://r.test/tasks/1"]);
    expect([response.status, await response.json()]).toEqual([200, ACCEPTED]);
    const [request] = http.requests;
    expect(request).toMatchObject({
      method: "POST",
      url: "https://r.test/v1/submit/ark/v3/tasks?a=1&b=%2F",
    });
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      authorization: "Bearer planted-token",
      "content-type": "application/json",
      "idempotency-key": expect.stringMatching(/^[0-9a-f-]{36}$/),
      "x-trace": "t",
    });
    expect(http.bodies).toEqual([BODY]);
  });

  it("the client's submit sends no Authorization when the client has no key, which is allowed only over a service binding", async () => {
    const { http } = connect(accepted());
    const relay = new TaskRelay({ url: "https://r.test", fetch: http.fetch });
    await relay.submit("ark", "tasks", { body: BODY });
    await relay.read(ID);
    expect(http.requests.map(({ headers }) => headers.has("Authorization"))).toEqual([
      false,
      false,
    ]);
  });

  it("the client's submit sends in headers what the relay should know about the job, with the metadata as ASCII JSON", async () => {
    const { relay, http } = connect(accepted());
    const metadata = { order: 'No. "1"', city: "Köln 🦊" };
    await relay.submit("ark", "tasks", {
      callbackUrl: "https://client.example.com/hook",
      metadata,
      idempotencyKey: "order-1",
      taskId: ID,
      account: "acme",
      credits: 60,
      deadlineAt: 1_800_000_000,
    });
    const sent = http.requests[0]?.headers;
    expect(Object.fromEntries(sent ?? [])).toMatchObject({
      "idempotency-key": "order-1",
      "relay-callback-url": "https://client.example.com/hook",
      "relay-task-id": ID,
      "relay-account": "acme",
      "relay-credits": "60",
      "relay-deadline-at": "1800000000",
    });
    expect(sent?.get("Relay-Metadata")).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(sent?.get("Relay-Metadata") ?? "")).toEqual(metadata);
  });

  it("with a customer's key, the client's submit leaves Authorization unchanged, and sends the relay's key in Relay-Key", async () => {
    const { relay, http } = connect(accepted());
    const headers = { Authorization: "Key own" };
    await relay.submit("fal", "fal-ai/fox", { body: BODY, headers, key: "customer" });
    expect(Object.fromEntries(http.requests[0]?.headers ?? [])).toMatchObject({
      authorization: "Key own",
      "relay-key": "Bearer planted-token",
    });
  });

  it("the client's submit sends no header for an option that is undefined", async () => {
    const { relay, http } = connect(accepted());
    const init = { callbackUrl: "" };
    // A caller without types, or with looser ones, may pass it.
    Reflect.set(init, "callbackUrl", undefined);
    await relay.submit("ark", "tasks", init);
    expect(http.requests[0]?.headers.has("Relay-Callback-Url")).toBe(false);
  });

  it.each(["../../tasks/1/cancel", "a/%2e%2e/b", "a?b=1", "a#b"])(
    "the client's submit throws a TypeError and sends nothing for the path %s, which would lead to another resource",
    async (path) => {
      const { relay, http } = connect(accepted());
      await expect(relay.submit("ark", path)).rejects.toBeInstanceOf(TypeError);
      expect(http.requests).toEqual([]);
    },
  );

  it.each([400, 429, 521])(
    "the client's submit returns an upstream's refusal with the status %i as an answer, and does not repeat the call",
    async (status) => {
      const headers = { "Relay-Task-Id": ID, "Retry-After": "1" };
      const { relay, http } = connect(answer(status, { error: "no" }, headers));
      const { taskId, statusUrl, response } = await relay.submit("ark", "tasks", { body: BODY });
      expect([taskId, statusUrl, response.status]).toEqual([ID, null, status]);
      expect(await response.json()).toEqual({ error: "no" });
      expect(http.requests).toHaveLength(1);
    },
  );

  it.each([
    [400, "invalid_request"],
    [402, "insufficient_credits"],
    [409, "task_exists"],
    [424, "submit_unknown"],
  ])("the client's submit rejects at once when the relay answers %i %s", async (status, code) => {
    const { relay, http } = connect(refusal(status, code));
    const error = await outcomeOf(relay.submit("ark", "tasks", { body: BODY }));
    expect(error).toBeInstanceOf(RelayProblem);
    expect(error).toMatchObject({ status, code });
    expect(http.requests).toHaveLength(1);
  });
});

describe("the repetition of a submission by the client", () => {
  it.each<[string, Scripted]>([
    ["a lost connection", "lost"],
    ["120 s of silence", "silent"],
    ["the status 503 of the relay", UNAVAILABLE],
    ["the status 502 of a proxy", new Response("Bad gateway", { status: 502 })],
    ["the status 429 of the relay", refusal(429, "rate_limited", { "Retry-After": "5" })],
    ["submission_running", RUNNING],
  ])(
    "after %s, the client's submit sends the same body again under the same Idempotency-Key",
    async (_, failure) => {
      const { relay, http } = connect(failure, accepted());
      expect(await outcomeOf(relay.submit("ark", "tasks", { body: BODY }))).toMatchObject({
        taskId: ID,
      });
      expect(http.bodies).toEqual([BODY, BODY]);
      const keys = http.requests.map(({ headers }) => headers.get("Idempotency-Key"));
      expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
    },
  );

  it("two calls of the client's submit have different Idempotency-Keys, so that the relay does not take the second for a repetition of the first", async () => {
    const { relay, http } = connect(accepted());
    await relay.submit("ark", "tasks", { body: BODY });
    await relay.submit("ark", "tasks", { body: BODY });
    const keys = http.requests.map(({ headers }) => headers.get("Idempotency-Key"));
    expect(new Set(keys).size).toBe(2);
  });

  it("the client's submit repeats a failed submission even when its body is a stream", async () => {
    const { relay, http } = connect("lost", accepted());
    const body = new Response(BODY).body;
    await outcomeOf(relay.submit("ark", "tasks", { body }));
    expect(http.bodies).toEqual([BODY, BODY]);
  });

  it("after submission_running, the client's submit waits for the time in Retry-After and repeats the call, as long as the submission is in progress", async () => {
    const { relay, http } = connect("lost", ...Array(4).fill(RUNNING), accepted());
    expect(await outcomeOf(relay.submit("ark", "tasks"))).toMatchObject({ taskId: ID });
    expect(http.sentAtMs).toEqual([0, 250, 20_250, 40_250, 60_250, 80_250]);
  });

  it("the client's submit gives up after 30 s of failures, or with retryForMs 0 at the first failure", async () => {
    const { relay, http } = connect("lost", RUNNING, UNAVAILABLE);
    expect(await outcomeOf(relay.submit("ark", "tasks"))).toMatchObject({ code: "unavailable" });
    const waitedMs = (http.sentAtMs.at(-1) ?? 0) - (http.sentAtMs[2] ?? 0);
    expect(waitedMs).toBeGreaterThan(20_000);
    expect(waitedMs).toBeLessThanOrEqual(30_000);
    const once = connect(RUNNING);
    const options = { url: "https://r.test", key: "k", fetch: once.http.fetch, retryForMs: 0 };
    const error = await outcomeOf(new TaskRelay(options).submit("ark", "tasks"));
    expect(error).toMatchObject({ code: "submission_running" });
    expect(once.http.requests).toHaveLength(1);
  });
});
