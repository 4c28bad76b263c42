import { describe, expect, it } from "vitest";
import * as z from "zod";
import { aReceiver } from "./receiver.ts";
import { call, ORIGIN, post, ProblemBody, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { completed, register } from "./tasks.ts";

useClock();

const ID = "00000000-0000-4000-8000-000000000000";

describe("every answer", () => {
  it.each([
    ["GET", "/healthz", 200],
    ["GET", "/.well-known/jwks.json", 200],
    ["GET", "/v1/signing-secrets", 200],
    ["POST", "/v1/tasks", 400],
    ["GET", `/v1/tasks/${ID}`, 404],
    ["DELETE", `/v1/tasks/${ID}`, 404],
    ["PUT", "/v1/events", 405],
    ["GET", "/nowhere", 404],
  ])("carries an X-Request-Id of its own: %s %s", async (method, path, status) => {
    const responses = [await call(path, { method }), await call(path, { method })];
    expect(responses.map((response) => response.status)).toEqual([status, status]);
    const ids = responses.map((response) => response.headers.get("X-Request-Id"));
    expect(ids[0]).toMatch(/^\S{8,}$/);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it("is not to be sniffed", async () => {
    const response = await call("/healthz");
    expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
  });
});

describe("a refusal", () => {
  it.each([
    ["POST", "/v1/tasks", null, "unauthenticated", 401],
    ["POST", "/v1/tasks", "test-only-operator-key", "invalid_request", 400],
    ["GET", `/v1/tasks/${ID}`, "test-only-operator-key", "unknown_task", 404],
    ["GET", "/nowhere", null, "not_found", 404],
    ["PATCH", "/healthz", null, "method_not_allowed", 405],
  ])("is problem+json with all its members: %s %s", async (method, path, key, code, status) => {
    const response = await call(path, { method, key });
    expect(response.status).toBe(status);
    expect(response.headers.get("Content-Type")).toMatch(/^application\/problem\+json/);
    const problem = ProblemBody.parse(await response.json());
    expect(problem).toMatchObject({ type: `${ORIGIN}/docs/errors#${code}`, status, code });
    expect(problem.title).not.toBe("");
    expect(problem.detail).not.toBe("");
  });

  it("tells every issue by a path and a message", async () => {
    const Issues = z.object({
      issues: z.array(z.strictObject({ path: z.string(), message: z.string().min(1) })).length(2),
    });
    const response = await post("/v1/tasks", { model: 5, callback_urls: [] });
    expect(
      Issues.parse(await response.json())
        .issues.map(({ path }) => path)
        .toSorted(),
    ).toEqual(["/callback_urls", "/model"]);
  });
});

describe("a method that a path does not have", () => {
  it.each([
    ["PUT", "/v1/tasks", "GET, HEAD, POST"],
    ["DELETE", "/v1/tasks", "GET, HEAD, POST"],
    ["GET", "/v1/redeliveries", "POST"],
    ["GET", "/v1/reindex", "POST"],
    ["POST", "/v1/stats", "GET, HEAD"],
    ["POST", "/metrics", "GET, HEAD"],
    ["PUT", `/v1/tasks/${ID}`, "DELETE, GET, HEAD"],
    ["POST", `/v1/tasks/${ID}`, "DELETE, GET, HEAD"],
    ["GET", `/v1/tasks/${ID}/redeliver`, "POST"],
    ["GET", "/v1/events", "POST"],
    ["HEAD", "/v1/events", "POST"],
    ["OPTIONS", "/v1/events", "POST"],
    ["GET", "/v1/callbacks/test", "POST"],
    ["POST", "/v1/signing-secrets", "GET, HEAD"],
    ["POST", "/.well-known/jwks.json", "GET, HEAD"],
    ["DELETE", "/healthz", "GET, HEAD"],
  ])("is answered by 405 and what it has: %s %s", async (method, path, allow) => {
    const response = await call(path, { method, key: null });
    expect(response.status).toBe(405);
    expect((response.headers.get("Allow") ?? "").split(", ").toSorted().join(", ")).toBe(allow);
  });
});

describe("a path that does not exist", () => {
  it.each([
    "/v2/tasks",
    "/v1/task",
    "/v1/events/1",
    `/v1/tasks/${ID}/other`,
    "/V1/events",
    "//v1/events",
    "/v1/tasks//redeliver",
    "/.env",
  ])("is answered by 404: %s", async (path) => {
    const response = await call(`${ORIGIN}${path}`);
    expect(await refusal(response)).toEqual({ status: 404, code: "not_found" });
  });
});

describe("HEAD", () => {
  it("is answered like GET, without the body", async () => {
    aReceiver();
    for (const id of [await register(), await completed()]) {
      const [get, head] = [
        await call(`/v1/tasks/${id}`),
        await call(`/v1/tasks/${id}`, { method: "HEAD" }),
      ];
      expect([head.status, await head.text()]).toEqual([200, ""]);
      for (const name of ["ETag", "Cache-Control", "Vary", "Retry-After", "Content-Type"]) {
        expect(head.headers.get(name)).toBe(get.headers.get(name));
      }
    }
    const unknown = await call(`/v1/tasks/${ID}`, { method: "HEAD" });
    expect([unknown.status, await unknown.text()]).toEqual([404, ""]);
    expect((await call("/healthz", { method: "HEAD" })).status).toBe(200);
  });
});
