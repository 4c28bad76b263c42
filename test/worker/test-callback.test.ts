import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { type Answer, aReceiver, refused, status } from "./receiver.ts";
import { invalid, ORIGIN, post, refusal } from "./client.ts";
import { START_S, useClock } from "./clock.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

it("POST /v1/callbacks/test sends one sample callback and returns its outcome without the receiver's response", async () => {
  const received = aReceiver(status(418, "the receiver's own words"));
  const response = await post("/v1/callbacks/test", { callback_url: CALLBACK_URL });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    outcome: "rejected",
    status_code: 418,
    duration_ms: 0,
  });
  expect(received).toHaveLength(1);
  expect(received[0]).toMatchObject({
    url: CALLBACK_URL,
    headers: {
      "x-event": "task.completed",
      "x-attempt": "1",
      "x-timestamp": String(START_S),
      "webhook-timestamp": String(START_S),
    },
  });
  const fields = ["id", "status", "model", "created_at", "completed_at", "output"];
  expect(Object.keys(JSON.parse(received[0]?.body ?? ""))).toEqual(fields);
});

it("POST /v1/callbacks/test sends a sample of a failure when status is failed", async () => {
  const received = aReceiver(status(204));
  const body = { callback_url: CALLBACK_URL, status: "failed" };
  const response = await post("/v1/callbacks/test", body);
  expect(await response.json()).toEqual({
    outcome: "delivered",
    status_code: 204,
    duration_ms: 0,
  });
  expect(received[0]?.headers["x-event"]).toBe("task.failed");
  const fields = ["id", "status", "model", "created_at", "error"];
  expect(Object.keys(JSON.parse(received[0]?.body ?? ""))).toEqual(fields);
});

it.each<[string, Answer, object]>([
  ["a redirect", status(302), { outcome: "redirected", status_code: 302 }],
  ["a dead host", refused, { outcome: "unreachable" }],
  ["a host that the edge cannot reach", status(523), { outcome: "unreachable", status_code: 523 }],
])("POST /v1/callbacks/test returns the outcome of %s", async (_, answer, outcome) => {
  aReceiver(answer);
  const response = await post("/v1/callbacks/test", { callback_url: CALLBACK_URL });
  expect(await response.json()).toEqual({ ...outcome, duration_ms: 0 });
});

it("POST /v1/callbacks/test creates no task object", async () => {
  aReceiver();
  const before = await listDurableObjectIds(env.TASKS);
  await post("/v1/callbacks/test", { callback_url: CALLBACK_URL });
  expect(await listDurableObjectIds(env.TASKS)).toHaveLength(before.length);
});

it.each([
  ["a missing callback_url", {}, "/callback_url"],
  ["callback_url null", { callback_url: null }, "/callback_url"],
  ["a callback_url on the relay", { callback_url: `${ORIGIN}/v1/events` }, "/callback_url"],
  ["a local callback_url", { callback_url: "https://localhost:8443/" }, "/callback_url"],
  ["an unknown field", { callback_url: CALLBACK_URL, url: 1 }, "/url"],
  ["the status processing", { callback_url: CALLBACK_URL, status: "processing" }, "/status"],
])("POST /v1/callbacks/test rejects %s and sends nothing", async (_, body, path) => {
  const received = aReceiver();
  const response = await post("/v1/callbacks/test", body);
  expect(await refusal(response)).toEqual(invalid(path));
  expect(received).toEqual([]);
});
