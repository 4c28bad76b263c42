import { describe, expect, it } from "vitest";
import { anAccount } from "./accounts.ts";
import { aReceiver, status } from "./receiver.ts";
import { call, post } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { NOTHING, stored, untilIdle } from "./objects.ts";
import { aCompletion, aFailure, CALLBACK_URL, completed, read, register, VIDEO } from "./tasks.ts";

useClock();

function readKnowing(id: string, tag: string): Promise<Response> {
  return call(`/v1/tasks/${id}`, { headers: { "If-None-Match": tag } });
}

async function tagOf(id: string): Promise<string> {
  return (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "none";
}

describe("GET /v1/tasks/{id}", () => {
  it("shows a completed task: the callback body first, then how the callback stands", async () => {
    aReceiver(status(200, "thanks"));
    const account = await anAccount();
    const id = await register({ metadata: { order: 7 }, account });
    await post("/v1/events", aCompletion(id, { completed_at: START_S - 5 }));
    await untilIdle(id);
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

  it("shows a failed task without output, and the time of the next attempt", async () => {
    aReceiver(status(500));
    const id = await register();
    await post("/v1/events", aFailure(id));
    await untilIdle(id);
    expect(await read(id)).toEqual({
      id,
      status: "failed",
      model: "seedance",
      created_at: START_S,
      error: { code: "moderation", message: "Refused." },
      callback: {
        url: CALLBACK_URL,
        status: "sending",
        attempts: [
          {
            number: 1,
            series: 1,
            started_at: START_S,
            duration_ms: 0,
            outcome: "rejected",
            status_code: 500,
          },
        ],
        next_attempt_at: START_S + 180,
      },
    });
  });

  it("has callback null for a task without callback_url", async () => {
    expect(await read(await completed({ callback_url: null }))).toMatchObject({ callback: null });
  });

  it("answers unknown, malformed and odd ids alike, byte for byte, and creates nothing", async () => {
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

  it("is for those who have a key", async () => {
    const id = await register();
    for (const key of [null, "wrong", "test-only-operator-ke", "test-only-operator-keyx", ""]) {
      const response = await call(`/v1/tasks/${id}`, { key });
      expect(response.status).toBe(401);
      expect(response.headers.get("WWW-Authenticate")).toMatch(/^Bearer/);
    }
    expect((await call(`/v1/tasks/${id}`, { key: "test-only-older-operator-key" })).status).toBe(
      200,
    );
  });

  it("may be kept by its reader only, who has to ask again", async () => {
    const response = await call(`/v1/tasks/${await register()}`);
    expect(response.headers.get("Cache-Control")).toBe("private, no-cache");
    expect(response.headers.get("Vary")).toContain("Authorization");
    expect(response.headers.get("ETag")).toMatch(/^"\d+-operator"$/);
  });

  it("says when to ask again while the task is open, and not after", async () => {
    aReceiver();
    const id = await register();
    expect((await call(`/v1/tasks/${id}`)).headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
    await post("/v1/events", aCompletion(id));
    expect((await call(`/v1/tasks/${id}`)).headers.get("Retry-After")).toBeNull();
  });

  it("reads what was written before, at once", async () => {
    aReceiver();
    const id = await register();
    await post("/v1/events", { id, status: "processing" });
    expect(await read(id)).toMatchObject({ status: "processing" });
    await post("/v1/events", aCompletion(id));
    expect(await read(id)).toMatchObject({ status: "completed" });
  });

  it("writes nothing", async () => {
    const id = await register();
    const before = await stored(id);
    pass(3_600_000);
    await read(id);
    expect(await stored(id)).toEqual(before);
  });
});

describe("If-None-Match", () => {
  it.each([
    ["the tag", (tag: string) => tag],
    ["the weak tag", (tag: string) => `W/${tag}`],
    ["a list with the tag", (tag: string) => `"x", W/"y" , ${tag}`],
    ["a star", () => "*"],
  ])("answers 304 to %s, without a body but with the validators", async (_, spell) => {
    const id = await register();
    const tag = await tagOf(id);
    const response = await readKnowing(id, spell(tag));
    expect(response.status).toBe(304);
    expect(await response.text()).toBe("");
    expect(response.headers.get("ETag")).toBe(tag);
    expect(response.headers.get("Cache-Control")).toBe("private, no-cache");
    expect(response.headers.get("Vary")).toContain("Authorization");
    expect(response.headers.get("X-Request-Id")).not.toBeNull();
  });

  it("answers 200 to a tag of before a change, or of another role", async () => {
    const id = await register();
    const tag = await tagOf(id);
    expect((await readKnowing(id, tag.replace("operator", "account"))).status).toBe(200);
    await post("/v1/events", { id, status: "processing" });
    const response = await readKnowing(id, tag);
    expect(response.status).toBe(200);
    expect(response.headers.get("ETag")).not.toBe(tag);
  });

  it("answers 404 for an unknown task, also to a star", async () => {
    expect((await readKnowing(crypto.randomUUID(), "*")).status).toBe(404);
  });
});
