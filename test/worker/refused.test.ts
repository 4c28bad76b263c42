import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { aReceiver } from "./receiver.ts";
import { aRequest, call, ORIGIN, post } from "./client.ts";
import { useClock } from "./clock.ts";
import { NOTHING, stored } from "./objects.ts";
import { aCompletion, CALLBACK_URL, completed, register } from "./tasks.ts";

useClock();

type Attempt = (id: string) => Promise<Response>;

/** Refused before any object is asked. */
const AT_THE_DOOR: readonly [string, number, Attempt][] = [
  [
    "a registration without a key",
    401,
    (id) => post("/v1/tasks", { id, model: "m" }, { key: null }),
  ],
  ["an event with a wrong key", 401, (id) => post("/v1/events", aCompletion(id), { key: "wrong" })],
  ["a read without a key", 401, (id) => call(`/v1/tasks/${id}`, { key: null })],
  [
    "an erasure without a key",
    401,
    (id) => call(`/v1/tasks/${id}`, { method: "DELETE", key: null }),
  ],
  ["a redelivery without a key", 401, (id) => post(`/v1/tasks/${id}/redeliver`, "", { key: null })],
  [
    "an attachment without a key",
    401,
    (id) => post(`/v1/tasks/${id}/upstream`, { provider: "ark", id: "cgt-1" }, { key: null }),
  ],
  [
    "an attachment to an unknown provider",
    400,
    (id) => post(`/v1/tasks/${id}/upstream`, { provider: "nobody", id: "cgt-1" }),
  ],
  [
    "a registration with an unknown provider",
    400,
    (id) => post("/v1/tasks", { id, model: "m", provider: "nobody" }),
  ],
  [
    "a hook with a made-up token",
    404,
    (id) => post(`/hooks/ark/${id}/${"A".repeat(43)}`, { id: "cgt-1", status: "failed" }),
  ],
  ["a malformed registration", 400, (id) => post("/v1/tasks", { id })],
  ["a malformed event", 400, (id) => post("/v1/events", { id, status: "done", model: "m" })],
  ["a body that is not JSON", 400, (id) => post("/v1/events", `{"id":"${id}"`)],
  ["a body over the limit", 413, (id) => post("/v1/events", id.repeat(10_000))],
  ["a read with a bad wait", 400, (id) => call(`/v1/tasks/${id}?wait=x`)],
  ["a redelivery of four", 400, (id) => post(`/v1/tasks/${id}/redeliver`, { attempts: 4 })],
  [
    "a registration that calls back to the relay",
    400,
    (id) => post("/v1/tasks", { id, model: "m", callback_url: ORIGIN }),
  ],
  ["a wrong method", 405, (id) => call(`/v1/tasks/${id}`, { method: "PUT" })],
  ["an unknown path", 404, (id) => call(`/v1/tasks/${id}/nothing`)],
  [
    "an event for a relay that is not configured",
    503,
    async (id) =>
      app.fetch(aRequest("/v1/events", { body: aCompletion(id, { model: "m" }) }), {
        ...env,
        PAUSED: "?",
      }),
  ],
];

/** Refused by the object, which has no record. */
const BY_THE_OBJECT: readonly [string, number, Attempt][] = [
  ["a read", 404, (id) => call(`/v1/tasks/${id}`)],
  ["an event without a model", 404, (id) => post("/v1/events", aCompletion(id))],
  [
    "an attachment",
    404,
    (id) => post(`/v1/tasks/${id}/upstream`, { provider: "ark", id: "cgt-1" }),
  ],
  ["an erasure", 404, (id) => call(`/v1/tasks/${id}`, { method: "DELETE" })],
  ["a redelivery", 404, (id) => post(`/v1/tasks/${id}/redeliver`, { callback_url: CALLBACK_URL })],
  [
    "an event that calls back to a local name",
    400,
    (id) => post("/v1/events", aCompletion(id, { model: "m", callback_url: "https://a.local/" })),
  ],
  ["a deadline in the past", 400, (id) => post("/v1/tasks", { id, model: "m", deadline_at: 5 })],
];

describe("an unknown id after a refusal", () => {
  it.each(AT_THE_DOOR)("has no object: %s", async (_, status, attempt) => {
    const before = (await listDurableObjectIds(env.TASKS)).length;
    const id = crypto.randomUUID();
    expect((await attempt(id)).status).toBe(status);
    expect(await listDurableObjectIds(env.TASKS)).toHaveLength(before);
  });

  it.each([...AT_THE_DOOR, ...BY_THE_OBJECT])(
    "has no key and no alarm: %s",
    async (_, status, attempt) => {
      const received = aReceiver();
      const id = crypto.randomUUID();
      expect((await attempt(id)).status).toBe(status);
      expect(await stored(id)).toEqual(NOTHING);
      expect(received).toEqual([]);
    },
  );
});

describe("a known task after a refusal", () => {
  it.each(AT_THE_DOOR)("is as it was: %s", async (_, status, attempt) => {
    const received = aReceiver();
    const tasks = [await register(), await completed()];
    const sent = received.length;
    for (const id of tasks) {
      const before = await stored(id);
      expect((await attempt(id)).status).toBe(status);
      expect(await stored(id)).toEqual(before);
    }
    expect(received).toHaveLength(sent);
  });
});
