import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { call, refusal } from "./client.ts";
import { pass, realMs, until, useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { aLinkedTask, open } from "./links.ts";
import { stubOf } from "./objects.ts";
import { aRateLimit, LIMITED, sendFrom } from "./rate-limits.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, finish, read, register, report, taskOf } from "./tasks.ts";

useClock();
const waits = useHeldWaits();

const MINUTE_MS = 60_000;

/** Opens a WebSocket to the object of a task, as a Worker that holds a reader does. Nobody reads it. */
async function watch(id: string): Promise<WebSocket | null> {
  const response = await stubOf(id).fetch("https://task/watch", {
    headers: { Upgrade: "websocket" },
  });
  response.webSocket?.accept();
  return response.webSocket;
}

const reads = () => vi.spyOn(TaskObject.prototype, "read");

it("a request that waits for a task is told when it has ended, and asks the task's object for nothing before", async () => {
  const asked = reads();
  const id = await register({ callback_url: undefined });
  waits.between = async () => {
    expect(asked).toHaveBeenCalledTimes(1);
    await finish(aCompletion(id));
    return true;
  };
  const answer = await call(`/v1/tasks/${id}?wait=60`);
  expect(await taskOf(answer)).toMatchObject({ status: "completed" });
  expect(asked).toHaveBeenCalledTimes(2);
});

it("a task that is evicted from memory while it is watched still tells its watchers of a change", async () => {
  const id = await register({ callback_url: undefined });
  waits.between = async () => {
    await evictDurableObject(stubOf(id), { webSockets: "hibernate" });
    await finish(aCompletion(id));
    return true;
  };
  const answer = await call(`/v1/tasks/${id}?wait=60`);
  expect(await taskOf(answer)).toMatchObject({ status: "completed" });
});

it("a request that waits for a task which 64 others watch reads it after 5 s at first, later after an eighth of its age, at most 60 s", async () => {
  const id = await register({ callback_url: undefined });
  const sockets = await Promise.all(Array.from({ length: 65 }, () => watch(id)));
  expect(sockets.filter((socket) => socket === null)).toHaveLength(1);
  await call(`/v1/tasks/${id}?wait=10`);
  expect(waits.pauses).toEqual([5000, 5000]);
  waits.pauses.length = 0;
  pass(3 * MINUTE_MS);
  await call(`/v1/tasks/${id}?wait=60`);
  expect(waits.pauses[0]).toBe((3 * MINUTE_MS + 10_000) / 8);
  waits.pauses.length = 0;
  pass(60 * MINUTE_MS);
  await call(`/v1/tasks/${id}?wait=60`);
  expect(waits.pauses).toEqual([MINUTE_MS]);
});

it("an event's result is stored and called back although 64 watchers of its task read nothing from their WebSockets", async () => {
  const received = aReceiver();
  const id = await register();
  await Promise.all(Array.from({ length: 64 }, () => watch(id)));
  expect((await report(aCompletion(id))).status).toBe(202);
  await until(() => received.length === 1);
  expect(await read(id)).toMatchObject({ status: "completed" });
});

it.each([
  ["cannot be watched", new Error("overloaded")],
  ["runs a release that cannot be watched", new TypeError("does not export a fetch() function")],
])(
  "a request that waits for a task reads the task again every 5 s when the task's object %s",
  async (_what, error) => {
    vi.spyOn(TaskObject.prototype, "fetch").mockRejectedValue(error);
    const id = await register({ callback_url: undefined });
    waits.between = async (wait) => wait === 2 && report(aCompletion(id)).then(() => false);
    const answer = await call(`/v1/tasks/${id}?wait=60`);
    expect(await taskOf(answer)).toMatchObject({ status: "completed" });
    expect(waits.pauses).toEqual([5000, 5000]);
  },
);

it("a request that waits for a task reads the task again after the platform has closed the request's WebSocket to the task's object", async () => {
  const id = await register({ callback_url: undefined });
  waits.between = async (wait) => {
    if (wait === 1) await evictDurableObject(stubOf(id), { webSockets: "close" });
    if (wait === 2) await report(aCompletion(id));
    return wait === 1;
  };
  const answer = await call(`/v1/tasks/${id}?wait=60`);
  expect(await taskOf(answer)).toMatchObject({ status: "completed" });
});

it("of the readers of one status link, 32 wait in an isolate at a time; the next gets the present state at once, as a stream to which browsers return after 15 s", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  waits.between = () => ended;
  const waiting = Array.from({ length: 32 }, () => open(`${link}&wait=60`));
  await until(() => waits.pauses.length === 32);
  expect(await taskOf(await open(`${link}&wait=60`))).toMatchObject({ status: "pending" });
  const stream = await (await open(link.replace("?", "/events?"))).text();
  expect(stream).toMatch(/^retry: 15000\n\nevent: task\nid: \d+\ndata: \{.*\}\n\n$/);
  expect(waits.pauses).toHaveLength(32);
  await report(aCompletion(id));
  end();
  const answers = await Promise.all(waiting.map(async (each) => taskOf(await each)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(["completed"]));
  await realMs(1);
  const later = await aLinkedTask({ callback_url: null });
  waits.pauses.length = 0;
  waits.between = () => Promise.resolve();
  await open(`${later.link}&wait=60`);
  expect(waits.pauses).toEqual([MINUTE_MS]);
});

it("beyond LIMIT_LINKS, requests with one status link from one address are refused; those from another, with another link or a key are not", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const other = await aLinkedTask({ callback_url: null });
  const bindings = { ...env, LIMIT_LINKS: aRateLimit(2) };
  const send = (address: string, path: string) => sendFrom(address, bindings, { path, key: null });
  const events = link.replace("?", "/events?");
  expect((await send("192.0.2.1", link)).status).toBe(200);
  expect((await send("192.0.2.1", link)).status).toBe(200);
  for (const path of [link, events]) {
    const refused = await send("192.0.2.1", path);
    // A page of another site can read when to ask again.
    expect(refused.headers.get("Access-Control-Allow-Origin")).toBe("*");
    expect(await refusal(refused)).toMatchObject(LIMITED);
  }
  expect((await send("192.0.2.2", link)).status).toBe(200);
  expect((await send("192.0.2.1", other.link)).status).toBe(200);
  const withKey = { path: `/v1/tasks/${id}` };
  expect((await sendFrom("192.0.2.1", bindings, withKey)).status).toBe(200);
});
