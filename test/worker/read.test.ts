import { expect, it, vi } from "vitest";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { anAccount } from "./accounts.ts";
import { call, invalid, refusal } from "./client.ts";
import { START_S, useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { NOTHING, stored } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import { aCompletion, CALLBACK_URL, completed, finish, register, report, VIDEO } from "./tasks.ts";

useClock();

function readIfChanged(id: string, tag: string): Promise<Response> {
  return call(`/v1/tasks/${id}`, { headers: { "If-None-Match": tag } });
}

async function tagOf(id: string): Promise<string> {
  return (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "none";
}

it("the response of GET /v1/tasks/{id} for a completed task begins with the members of its callback's body, followed by the state of the callback", async () => {
  aReceiver(status(200, "thanks"));
  const account = await anAccount();
  const id = await register({ metadata: { order: 7 }, account });
  await finish(aCompletion(id, { completed_at: START_S - 5 }));
  const response = await call(`/v1/tasks/${id}`);
  expect(await response.text()).toBe(
    `{"id":"${id}","status":"completed","model":"seedance","created_at":${START_S},` +
      `"completed_at":${START_S - 5},"output":{"urls":["${VIDEO}"],"metadata":{}},` +
      `"callback":{"url":"${CALLBACK_URL}","status":"delivered","attempts":[{"number":1,` +
      `"series":1,"started_at":${START_S},"late_ms":0,"after_ms":0,"duration_ms":0,"outcome":"delivered",` +
      `"status_code":200,"answer":{"content_type":"text/plain;charset=UTF-8"},"response_excerpt":"thanks"}],"delivered_at":${START_S}},` +
      `"account":"${account}","metadata":{"order":7},"finished_at":${START_S}}`,
  );
});

it("GET /v1/tasks/{id} gives the same 404 response for unknown and malformed ids, and creates nothing", async () => {
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

it("responses of GET /v1/tasks/{id} may be cached privately and must be revalidated, and have Retry-After while the task is open", async () => {
  aReceiver();
  const id = await register();
  const { headers } = await call(`/v1/tasks/${id}`);
  expect(headers.get("Cache-Control")).toBe("private, no-cache");
  expect(headers.get("Vary")).toContain("Authorization");
  expect(headers.get("ETag")).toMatch(/^"\d+-operator-[0-9a-f]+"$/);
  expect(headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
  await report(aCompletion(id));
  expect((await call(`/v1/tasks/${id}`)).headers.get("Retry-After")).toBeNull();
});

it.each([
  ["the ETag", (tag: string) => tag],
  ["the weak ETag", (tag: string) => `W/${tag}`],
  ["a list that contains the ETag", (tag: string) => `"x", W/"y" , ${tag}`],
  ["a star", () => "*"],
])(
  "GET /v1/tasks/{id} with %s in If-None-Match answers 304 with ETag and cache headers, but without a body",
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

it("GET /v1/tasks/{id} whose If-None-Match is the ETag of an earlier version, or of another role's view, answers 200", async () => {
  const id = await register();
  const tag = await tagOf(id);
  expect((await readIfChanged(id, tag.replace("operator", "account"))).status).toBe(200);
  await report({ id, status: "processing" });
  const response = await readIfChanged(id, tag);
  expect(response.status).toBe(200);
  expect(response.headers.get("ETag")).not.toBe(tag);
});

it("GET /v1/tasks/{id} of an unknown task answers 404 even when If-None-Match is *", async () => {
  expect((await readIfChanged(crypto.randomUUID(), "*")).status).toBe(404);
});

const waits = useHeldWaits();

it("GET /v1/tasks/{id}?wait=600 of a task that does not change waits for 60 s, and reads the task once", async () => {
  const reads = vi.spyOn(TaskObject.prototype, "read");
  const id = await register();
  const response = await call(`/v1/tasks/${id}?wait=600`);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ status: "pending" });
  expect(waits.pauses).toEqual([60_000]);
  expect(reads).toHaveBeenCalledTimes(1);
});

it.each([
  ["?wait=0", "", 0],
  ["?wait=60", "", 60_000],
  ["?wait=99999999999999999999", "", 60_000],
  ["", "wait=3", 3000],
  ["", "wait=600", 60_000],
  ["", "respond-async, wait=4", 4000],
  ["", "WAIT = 2", 2000],
  ["", 'wait="5"', 5000],
  ["", "await=9", 0],
  ["", "wait=soon", 0],
  ["?wait=1", "wait=9", 1000],
])(
  'GET /v1/tasks/{id} of an open task, with the query "%s" and the header Prefer: "%s", answers after %i ms',
  async (query, prefer, ms) => {
    const id = await register();
    const headers = { Prefer: prefer };
    expect((await call(`/v1/tasks/${id}${query}`, { headers })).status).toBe(200);
    expect(waits.waitedMs()).toBe(ms);
  },
);

it.each(["", "abc", "5s", "NaN", "1,5", "%20", "-5", "2.5", "0x5", "1e3", "%2B5"])(
  "GET /v1/tasks/{id} rejects the query ?wait=%s",
  async (wait) => {
    const id = await register();
    const response = await call(`/v1/tasks/${id}?wait=${wait}`);
    expect(await refusal(response)).toEqual(invalid("/wait"));
  },
);

it("GET /v1/tasks/{id}?wait=60 answers as soon as the task's Durable Object reports the task's end, and reads the task once per change", async () => {
  aReceiver();
  const reads = vi.spyOn(TaskObject.prototype, "read");
  const id = await register();
  waits.between = async (wait) => {
    if (wait === 1) await report({ id, status: "processing" });
    else await report(aCompletion(id));
    return true;
  };
  const response = await call(`/v1/tasks/${id}?wait=60`);
  expect(await response.json()).toMatchObject({ status: "completed" });
  expect(reads).toHaveBeenCalledTimes(3);
});

it("GET /v1/tasks/{id}?wait=30 answers at once when the task is unknown or has ended", async () => {
  aReceiver();
  const id = await completed();
  expect((await call(`/v1/tasks/${id}?wait=30`)).status).toBe(200);
  expect((await call(`/v1/tasks/${crypto.randomUUID()}?wait=30`)).status).toBe(404);
  expect(waits.pauses).toEqual([]);
});

it("GET /v1/tasks/{id}?wait=30 with the task's ETag in If-None-Match waits until the task changes", async () => {
  const id = await register();
  const tag = (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "";
  waits.between = async () => {
    await report({ id, status: "processing" });
    return true;
  };
  const headers = { "If-None-Match": tag };
  const response = await call(`/v1/tasks/${id}?wait=30`, { headers });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ status: "processing" });
});

it("GET /v1/tasks/{id}?wait=4 with the task's ETag in If-None-Match answers 304 after 4 s without a change, even for a task that has ended", async () => {
  aReceiver();
  const id = await completed();
  const tag = (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "";
  const response = await call(`/v1/tasks/${id}?wait=4`, { headers: { "If-None-Match": tag } });
  expect(response.status).toBe(304);
  expect(waits.waitedMs()).toBe(4000);
});

it("GET /v1/tasks/{id}?wait=4 answers at once when If-None-Match has the ETag of an earlier version", async () => {
  const id = await register();
  const headers = { "If-None-Match": '"1-operator"' };
  expect((await call(`/v1/tasks/${id}?wait=4`, { headers })).status).toBe(200);
  expect(waits.pauses).toEqual([]);
});
