import { describe, expect, it } from "vitest";
import { RelayProblem, TaskRelay } from "../../client/src/index.ts";
import {
  answer,
  connect,
  ENDED,
  ID,
  OPEN,
  outcomeOf,
  refusal,
  type Scripted,
  UNAVAILABLE,
  useFakeTime,
} from "./scripted-relay.ts";

const REGISTRATION = { model: "m", callback_url: "https://client.example.com/hook" };

useFakeTime();

describe("the client", () => {
  it("a call of the client library sends a request with the API key, its path and its body to the relay, and returns the relay's answer", async () => {
    const { http, relay } = connect(answer(201, OPEN));
    await expect(relay.attach("a/b", { provider: "fal", id: "job" })).resolves.toEqual(OPEN);
    const [request] = http.requests;
    expect(request).toMatchObject({
      method: "POST",
      url: "https://r.test/v1/tasks/a%2Fb/upstream",
    });
    expect(request?.headers.get("Authorization")).toBe("Bearer planted-token");
    expect(http.bodies).toEqual(['{"provider":"fal","id":"job"}']);
  });

  it("when the relay refuses a call of the client library, the call rejects with an error that has the members of the relay's answer, but not the API key", async () => {
    const issues = [{ path: "/model", message: "is required" }];
    const body = {
      type: "",
      title: "",
      status: 400,
      code: "invalid_request",
      detail: "No.",
      issues,
    };
    const { relay } = connect(answer(400, body, { "X-Request-Id": "r1", "Retry-After": "7" }));
    const error = await outcomeOf(relay.register(REGISTRATION));
    expect(error).toBeInstanceOf(RelayProblem);
    expect(error).toMatchObject({
      message: "400 invalid_request: No. /model is required.",
      status: 400,
      code: "invalid_request",
      detail: "No.",
      issues,
      requestId: "r1",
      retryAfterS: 7,
      body,
    });
    expect(JSON.stringify(error)).not.toContain("planted");
  });

  it.each(["<h1>Forbidden</h1>", '{"message": "Forbidden"}', "null"])(
    "a call of the client library rejects with an error whose code is null when something other than the relay answers 403 with %s",
    async (text) => {
      const { relay } = connect(new Response(text, { status: 403 }));
      const error = await outcomeOf(relay.read(ID));
      expect(error).toMatchObject({ name: "RelayProblem", status: 403, code: null, body: null });
    },
  );

  it("a call of the client library rejects with an error whose code is null when a proxy answers 200 with a login page", async () => {
    const headers = { "Content-Type": "text/html; charset=utf-8" };
    const { relay } = connect(new Response("<h1>Log in</h1>", { headers }));
    const error = await outcomeOf(relay.read(ID));
    expect(error).toMatchObject({ name: "RelayProblem", status: 200, code: null, body: null });
  });
});

describe("a repeated request", () => {
  it.each<[string, Scripted]>([
    ["the status 503", UNAVAILABLE],
    ["the status 502 of a proxy", new Response("Bad gateway", { status: 502 })],
    ["the status 429", refusal(429, "rate_limited")],
    ["a lost connection", "lost"],
    ["30 s of silence", "silent"],
  ])("the client library sends the same request again after %s", async (_, failure) => {
    const { http } = connect(failure, failure, answer(201, OPEN));
    const retrying = new TaskRelay({
      url: "https://r.test",
      key: "k",
      fetch: http.fetch,
      retryForMs: 90_000,
    });
    await expect(outcomeOf(retrying.register(REGISTRATION))).resolves.toEqual(OPEN);
    expect(new Set(http.bodies).size).toBe(1);
    expect(http.requests).toHaveLength(3);
    expect(JSON.parse(http.bodies[0] ?? "")).toEqual({ ...REGISTRATION, id: expect.any(String) });
  });

  it("the client library repeats a failed request after the time in Retry-After, or without this header after a pause that doubles each time", async () => {
    const limited = refusal(429, "rate_limited", { "Retry-After": "20" });
    const { relay, http } = connect(limited, UNAVAILABLE, "lost", answer(200, OPEN));
    await expect(outcomeOf(relay.read(ID))).resolves.toEqual(OPEN);
    expect(http.sentAtMs).toEqual([0, 20_000, 20_500, 21_500]);
  });

  it.each<[string, number, Scripted, (relay: TaskRelay) => Promise<unknown>]>([
    ["the refusal 404", 1, refusal(404, "unknown_task"), (relay) => relay.read(ID)],
    ["the status 501", 1, refusal(501, "index_disabled"), (relay) => relay.list().next()],
    [
      "a Retry-After that is longer than the time for which it may try",
      1,
      refusal(503, "not_configured", { "Retry-After": "60" }),
      (relay) => relay.read(ID),
    ],
    ["30 s of failures", 8, UNAVAILABLE, (relay) => relay.read(ID)],
    [
      "a lost connection during a POST without an Idempotency-Key",
      1,
      "lost",
      (relay) => relay.api.POST("/v1/callbacks/test", { body: { callback_url: "https://c.test" } }),
    ],
  ])(
    "the client library does not repeat a request any more after %s; requests sent by then: %i",
    async (_, sent, failure, call) => {
      const { relay, http } = connect(failure);
      expect(await outcomeOf(call(relay))).toBeInstanceOf(Error);
      expect(http.requests).toHaveLength(sent);
    },
  );

  it("relay.api.POST of the client library repeats a request with an Idempotency-Key after the status 429 and after a lost connection", async () => {
    const { relay, http } = connect(refusal(429, "rate_limited"), "lost", answer(201, OPEN));
    const params = { header: { "Idempotency-Key": "order-1" } };
    await outcomeOf(relay.api.POST("/v1/tasks", { body: REGISTRATION, params }));
    expect(http.requests.map(({ headers }) => headers.get("Idempotency-Key"))).toEqual(
      Array(3).fill("order-1"),
    );
  });

  it("when the client library repeats a failed request for a redelivery, it sends the same Idempotency-Key as in the first request", async () => {
    const { relay, http } = connect("lost", answer(202, ENDED));
    await outcomeOf(relay.redeliver(ID, { attempts: 2 }));
    const [first, second] = http.requests.map(({ headers }) => headers.get("Idempotency-Key"));
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(second).toBe(first);
  });

  it("the client library does not repeat a request once its caller has aborted the signal of the call", async () => {
    const { relay, http } = connect(UNAVAILABLE);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 300);
    const error = await outcomeOf(relay.read(ID, { signal: controller.signal }));
    expect(error).toMatchObject({ message: "enough" });
    expect(http.requests).toHaveLength(2);
  });
});

describe("deleteOutputs", () => {
  it("the client's deleteOutputs resolves when the outputs are deleted, and rejects with task_open before the end of the task", async () => {
    const { http, relay } = connect(new Response(null, { status: 204 }));
    await relay.deleteOutputs(ID);
    expect(http.requests.map(({ method, url }) => [method, url])).toEqual([
      ["DELETE", expect.stringMatching(`/v1/tasks/${ID}/outputs$`)],
    ]);
    const refused = connect(refusal(409, "task_open"));
    await expect(refused.relay.deleteOutputs(ID)).rejects.toMatchObject({ code: "task_open" });
  });
});

describe("erase", () => {
  it.each([
    ["an existing", true, new Response(null, { status: 204 })],
    ["an unknown", false, refusal(404, "unknown_task")],
  ])("the client's erase of %s task returns %s", async (_, expected, response) => {
    await expect(connect(response).relay.erase(ID)).resolves.toBe(expected);
  });

  it("the client's erase rejects with task_open when the relay refuses to erase the task because it is still open", async () => {
    const { relay } = connect(refusal(409, "task_open"));
    await expect(relay.erase(ID)).rejects.toMatchObject({ code: "task_open" });
  });
});

const settled = (task: object) =>
  answer(409, { type: "", title: "", status: 409, code: "task_settled", detail: "…", task });

it("the client's cancel resolves when an earlier, lost request has already canceled the task, and rejects when the task has ended in another way", async () => {
  await expect(outcomeOf(connect("lost", settled(ENDED)).relay.cancel(ID))).resolves.toEqual(ENDED);
  const completed = { ...ENDED, status: "completed" };
  const { relay } = connect(settled(completed));
  await expect(relay.cancel(ID)).rejects.toMatchObject({ code: "task_settled" });
});

it("the client's cancel returns the open task when the relay answers 202, and sends force only when the caller asks for it", async () => {
  const goingOn = { ...OPEN, cancel: { state: "refused", reason: "order", requested_at: 1 } };
  const { relay, http } = connect(answer(202, goingOn), answer(200, ENDED));
  await expect(relay.cancel(ID)).resolves.toEqual(goingOn);
  await expect(relay.cancel(ID, { force: true })).resolves.toEqual(ENDED);
  expect(http.requests.map(({ url }) => url.split(ID)[1])).toEqual([
    "/cancel",
    "/cancel?force=true",
  ]);
});

const page = (id: string, next_cursor: string | null) =>
  answer(200, { data: [{ id }], next_cursor });

it("the client's list requests the pages of tasks one after another with the same filter, and requests no further page when the caller stops reading", async () => {
  const { relay, http } = connect(page("a", "c1"), page("b", "c2"), page("c", null));
  const ids: string[] = [];
  for await (const { id } of relay.list({ status: "failed", limit: 1 })) ids.push(id);
  expect(ids).toEqual(["a", "b", "c"]);
  expect(http.requests.map(({ url }) => new URL(url).search)).toEqual([
    "?status=failed&limit=1",
    "?status=failed&limit=1&cursor=c1",
    "?status=failed&limit=1&cursor=c2",
  ]);
  for await (const _ of relay.list()) break;
  expect(http.requests).toHaveLength(4);
});
