import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { call, callWith, ORIGIN, post } from "./client.ts";
import { useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, CALLBACK_URL, cancel, completed, erase, redeliver, report } from "./tasks.ts";

useClock();

const NO_KEY = { key: null };
const WRONG_KEY = { key: "wrong" };
const DELETE = { method: "DELETE" };
const TOKEN = "A".repeat(43);
const BROKEN = { ...env, PAUSED: "?" };

type Attempt = (id: string) => Promise<Response>;

const ATTACHMENT = { provider: "ark", id: "cgt-1" };

/** Requests that are rejected before any object is called, with their statuses. */
const BEFORE_ANY_OBJECT: readonly [string, number, Attempt][] = [
  ["an unauthenticated registration", 401, (id) => post("/v1/tasks", { id, model: "m" }, NO_KEY)],
  ["an event with a wrong key", 401, (id) => post("/v1/events", aCompletion(id), WRONG_KEY)],
  ["an unauthenticated read", 401, (id) => call(`/v1/tasks/${id}`, NO_KEY)],
  ["an unauthenticated erasure", 401, (id) => call(`/v1/tasks/${id}`, { ...NO_KEY, ...DELETE })],
  ["an unauthenticated redelivery", 401, (id) => redeliver(id, "", NO_KEY)],
  ["an unauthenticated attachment", 401, (id) => attach(id, ATTACHMENT, NO_KEY)],
  ["an attachment to an unknown provider", 400, (id) => attach(id, { provider: "no", id: "1" })],
  ["an unknown provider", 400, (id) => post("/v1/tasks", { id, model: "m", provider: "nobody" })],
  ["a hook with an invented token", 404, (id) => post(`/hooks/ark/${id}/${TOKEN}`, ATTACHMENT)],
  ["a malformed registration", 400, (id) => post("/v1/tasks", { id })],
  ["a malformed event", 400, (id) => report({ id, status: "done", model: "m" })],
  ["a body that is not JSON", 400, (id) => post("/v1/events", `{"id":"${id}"`)],
  ["a body over the limit", 413, (id) => post("/v1/events", id.repeat(10_000))],
  ["a read with an invalid wait", 400, (id) => call(`/v1/tasks/${id}?wait=x`)],
  ["a redelivery with four attempts", 400, (id) => redeliver(id, { attempts: 4 })],
  [
    "a callback_url on the relay",
    400,
    (id) => post("/v1/tasks", { id, model: "m", callback_url: ORIGIN }),
  ],
  ["an erasure of a malformed id", 404, () => erase("42")],
  ["a redelivery of a malformed id", 404, () => redeliver("42")],
  ["a cancellation of a malformed id", 404, () => cancel("42")],
  ["an attachment to a malformed id", 404, () => attach("42", ATTACHMENT)],
  ["a wrong method", 405, (id) => call(`/v1/tasks/${id}`, { method: "PUT" })],
  ["an unknown path", 404, (id) => call(`/v1/tasks/${id}/nothing`)],
  [
    "an event for a misconfigured relay",
    503,
    (id) => callWith(BROKEN, "/v1/events", { body: aCompletion(id, { model: "m" }) }),
  ],
];

/** Requests that the object rejects because it has no record, with their statuses. */
const BY_THE_OBJECT: readonly [string, number, Attempt][] = [
  ["a read", 404, (id) => call(`/v1/tasks/${id}`)],
  ["an event without a model", 404, (id) => report(aCompletion(id))],
  ["an attachment", 404, (id) => attach(id, ATTACHMENT)],
  ["an erasure", 404, erase],
  ["a cancellation", 404, cancel],
  ["a redelivery", 404, (id) => redeliver(id, { callback_url: CALLBACK_URL })],
  [
    "an event with a local callback_url",
    400,
    (id) => report(aCompletion(id, { model: "m", callback_url: "https://a.local/" })),
  ],
  ["a past deadline", 400, (id) => post("/v1/tasks", { id, model: "m", deadline_at: 5 })],
];

function attach(id: string, body: object, message: object = {}): Promise<Response> {
  return post(`/v1/tasks/${id}/upstream`, body, message);
}

it.each(BEFORE_ANY_OBJECT)(
  "no object is created and no task is changed by %s (%i)",
  async (_, status, attempt) => {
    const received = aReceiver();
    const id = await completed();
    const before = (await listDurableObjectIds(env.TASKS)).length;
    await expectUnchanged(id, async () => {
      for (const each of [id, crypto.randomUUID()]) {
        expect((await attempt(each)).status).toBe(status);
      }
    });
    expect(await listDurableObjectIds(env.TASKS)).toHaveLength(before);
    expect(received).toHaveLength(1);
  },
);

it.each(BY_THE_OBJECT)("no key and no alarm is stored for %s (%i)", async (_, status, attempt) => {
  const received = aReceiver();
  const id = crypto.randomUUID();
  expect((await attempt(id)).status).toBe(status);
  expect(await stored(id)).toEqual(NOTHING);
  expect(received).toEqual([]);
});
