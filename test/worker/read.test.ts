import { expect, it } from "vitest";
import { anAccount } from "./accounts.ts";
import { call } from "./client.ts";
import { START_S, useClock } from "./clock.ts";
import { NOTHING, stored } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import {
  aCompletion,
  aFailure,
  CALLBACK_URL,
  completed,
  finish,
  read,
  register,
  report,
  VIDEO,
} from "./tasks.ts";

useClock();

function readIfChanged(id: string, tag: string): Promise<Response> {
  return call(`/v1/tasks/${id}`, { headers: { "If-None-Match": tag } });
}

async function tagOf(id: string): Promise<string> {
  return (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "none";
}

it("GET /v1/tasks/{id} shows the callback body of a completed task first, then the state of its callback", async () => {
  aReceiver(status(200, "thanks"));
  const account = await anAccount();
  const id = await register({ metadata: { order: 7 }, account });
  await finish(aCompletion(id, { completed_at: START_S - 5 }));
  const response = await call(`/v1/tasks/${id}`);
  expect(await response.text()).toBe(
    `{"id":"${id}","status":"completed","model":"seedance","created_at":${START_S},` +
      `"completed_at":${START_S - 5},"output":{"urls":["${VIDEO}"],"metadata":{}},` +
      `"callback":{"url":"${CALLBACK_URL}","status":"delivered","attempts":[{"number":1,` +
      `"series":1,"started_at":${START_S},"duration_ms":0,"outcome":"delivered",` +
      `"status_code":200,"response_excerpt":"thanks"}],"delivered_at":${START_S}},` +
      `"account":"${account}","metadata":{"order":7}}`,
  );
});

it("GET /v1/tasks/{id} shows a failed task without output and with the time of the next attempt", async () => {
  aReceiver(status(500));
  const id = await register();
  await finish(aFailure(id));
  const attempt = { number: 1, series: 1, started_at: START_S, duration_ms: 0 };
  expect(await read(id)).toEqual({
    id,
    status: "failed",
    model: "seedance",
    created_at: START_S,
    error: { code: "moderation", message: "Refused." },
    callback: {
      url: CALLBACK_URL,
      status: "sending",
      attempts: [{ ...attempt, outcome: "rejected", status_code: 500 }],
      next_attempt_at: START_S + 180,
    },
  });
});

it("GET /v1/tasks/{id} shows callback null for a task without callback_url", async () => {
  expect(await read(await completed({ callback_url: null }))).toMatchObject({ callback: null });
});

it("GET /v1/tasks/{id} gives one 404 answer to unknown and malformed ids and creates nothing", async () => {
  const unknown = crypto.randomUUID();
  const ids = [unknown, "42", "not-a-uuid", `${unknown}0`, `%7B${unknown}%7D`, "%ff", "%00"];
  const answers = await Promise.all(
    ids.map(async (id) => {
      const response = await call(`/v1/tasks/${id}`);
      const headers = Object.fromEntries(response.headers);
      delete headers["x-request-id"];
      return { status: response.status, headers, body: await response.text() };
    }),
  );
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 404 });
  expect(await stored(unknown)).toEqual(NOTHING);
});

it("GET /v1/tasks/{id} allows private caching with revalidation, and has Retry-After while the task is open", async () => {
  aReceiver();
  const id = await register();
  const { headers } = await call(`/v1/tasks/${id}`);
  expect(headers.get("Cache-Control")).toBe("private, no-cache");
  expect(headers.get("Vary")).toContain("Authorization");
  expect(headers.get("ETag")).toMatch(/^"\d+-operator"$/);
  expect(headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
  await report(aCompletion(id));
  expect((await call(`/v1/tasks/${id}`)).headers.get("Retry-After")).toBeNull();
});

it.each([
  ["the tag", (tag: string) => tag],
  ["the weak tag", (tag: string) => `W/${tag}`],
  ["a list with the tag", (tag: string) => `"x", W/"y" , ${tag}`],
  ["a star", () => "*"],
])(
  "GET /v1/tasks/{id} with If-None-Match answers 304 to %s, with validators and without a body",
  async (_, spell) => {
    const id = await register();
    const tag = await tagOf(id);
    const response = await readIfChanged(id, spell(tag));
    expect([response.status, await response.text()]).toEqual([304, ""]);
    expect(response.headers.get("ETag")).toBe(tag);
    expect(response.headers.get("Cache-Control")).toBe("private, no-cache");
    expect(response.headers.get("Vary")).toContain("Authorization");
    expect(response.headers.get("X-Request-Id")).not.toBeNull();
  },
);

it("GET /v1/tasks/{id} with If-None-Match answers 200 to the tag of an earlier version or of another role", async () => {
  const id = await register();
  const tag = await tagOf(id);
  expect((await readIfChanged(id, tag.replace("operator", "account"))).status).toBe(200);
  await report({ id, status: "processing" });
  const response = await readIfChanged(id, tag);
  expect(response.status).toBe(200);
  expect(response.headers.get("ETag")).not.toBe(tag);
});

it("GET /v1/tasks/{id} with If-None-Match answers 404 for an unknown task, even to a star", async () => {
  expect((await readIfChanged(crypto.randomUUID(), "*")).status).toBe(404);
});
