import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { env } from "../../src/startup.ts";
import { TaskWatch } from "../../src/api/tasks/task-watch.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { Watchers } from "../../src/objects/task/watchers.ts";
import { aRequest, call, refusal } from "./client.ts";
import { pass, START, until, useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { aLinkedTask, open } from "./links.ts";
import { restart, stubOf } from "./objects.ts";
import { aRateLimit, LIMITED, sendFrom } from "./rate-limits.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, read, register, report, taskOf } from "./tasks.ts";

useClock();
const waits = useHeldWaits();

const MINUTE_MS = 60_000;

/** Opens a WebSocket to the object of a task, as a Worker that holds a reader does. Nobody reads it. */
async function watch(id: string): Promise<WebSocket | null> {
  const headers = { Upgrade: "websocket" };
  return (await stubOf(id).fetch("https://task/watch", { headers })).webSocket;
}

/** The WebSockets that a test has opened. One that nothing refers to would be closed by the garbage collector. */
const heldSockets: WebSocket[] = [];
afterEach(() => void heldSockets.splice(0));

/** Opens WebSockets to the object of a task, by default as many as it accepts. @returns those that it has accepted. */
async function watchers(id: string, count = 64): Promise<readonly WebSocket[]> {
  const sockets = await Promise.all(Array.from({ length: count }, () => watch(id)));
  const accepted = sockets.filter((socket) => socket !== null);
  heldSockets.push(...accepted);
  return accepted;
}

/** Returns the number of WebSockets of a task's object. */
const socketsOf = (id: string) =>
  runInDurableObject(stubOf(id), (_, ctx) => ctx.getWebSockets().length);

/** Counts the requests that readers with a key and readers with a status link send to the objects of tasks. */
function objectRequests(): () => number {
  const { prototype } = TaskObject;
  const spies = [
    vi.spyOn(prototype, "read"),
    vi.spyOn(prototype, "readByLink"),
    vi.spyOn(prototype, "fetch"),
    vi.spyOn(prototype, "inspect"),
    vi.spyOn(prototype, "isOpen"),
  ];
  return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
}

/** The ways in which a reader waits for the end of a task, and how often nothing changes while it does. */
const READERS = [
  ["a request with ?wait=60", 0, (id: string) => call(`/v1/tasks/${id}?wait=60`)],
  ["an event stream", 3, (id: string) => call(`/v1/tasks/${id}/events`)],
] as const;

it.each(READERS)(
  "%s causes two calls of the task's Durable Object at first, none while nothing changes (%i times 15 s), and one when the object pushes the result",
  async (_, quiet, follow) => {
    const count = objectRequests();
    const id = await register({ callback_url: undefined });
    waits.between = async (wait) => {
      expect([count(), await socketsOf(id)]).toEqual([2, 1]);
      if (wait <= quiet) return false;
      await report(aCompletion(id));
      return true;
    };
    const text = await (await follow(id)).text();
    expect(text).toContain('"status":"completed"');
    expect([count(), waits.pauses.length]).toEqual([3, quiet + 1]);
    await until(async () => (await socketsOf(id)) === 0);
  },
);

it.each(READERS)(
  "while the relay is paused, %s gets the result because the task's Durable Object pushes it",
  async (_, _quiet, follow) => {
    const received = aReceiver();
    const id = await register();
    await restart(id, { ...env, PAUSED: "true" });
    const count = objectRequests();
    waits.between = async (wait) => {
      if (wait > 1) return false;
      await report(aCompletion(id));
      return true;
    };
    const { body } = await follow(id);
    const text = await untilText(body, '"status":"completed"');
    expect(text).toContain('"paused":true');
    expect([count(), received.length]).toEqual([3, 0]);
  },
);

/** Reads a body until it contains a text, and no further. */
async function untilText(body: ReadableStream<Uint8Array> | null, part: string): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  for (let text = ""; ;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    text += decoder.decode(value, { stream: true });
    if (!done && !text.includes(part)) continue;
    await reader?.cancel();
    return text;
  }
}

it.each(READERS)(
  "%s gets the result because the task's Durable Object pushes it, although the object was evicted from memory in the meantime",
  async (_, _quiet, follow) => {
    const id = await register({ callback_url: undefined });
    const count = objectRequests();
    waits.between = async (wait) => {
      if (wait > 1) return false;
      await evictDurableObject(stubOf(id), { webSockets: "hibernate" });
      await report(aCompletion(id));
      return true;
    };
    expect(await (await follow(id)).text()).toContain('"status":"completed"');
    expect([count(), Date.now()]).toEqual([3, START]);
  },
);

it("while 64 others wait for a task, a request with ?wait reads the task after 5 s at first, and later after an eighth of the task's age, at most 60 s", async () => {
  const id = await register({ callback_url: undefined });
  expect(await watchers(id)).toHaveLength(64);
  expect(await watch(id)).toBeNull();
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

it("the WebSocket of a reader that waits for a task no longer counts among the task's 64 such WebSockets as soon as it is being closed", async () => {
  const id = await register({ callback_url: undefined });
  expect(await watchers(id)).toHaveLength(64);
  const listed = await runInDurableObject(stubOf(id), (_, ctx) => {
    for (const socket of ctx.getWebSockets().slice(0, 2)) socket.close();
    return ctx.getWebSockets().length;
  });
  expect(listed).toBe(64);
  expect(await watchers(id, 3)).toHaveLength(2);
});

it("while 64 others wait for a task, its event stream sends a comment every 15 s, and reads the task after an eighth of the task's age, 5 to 60 s", async () => {
  const reads = vi.spyOn(TaskObject.prototype, "read");
  const readAt: number[] = [];
  waits.between = async () => {
    readAt[reads.mock.calls.length - 1] ??= Date.now() - START;
  };
  const id = await register({ callback_url: undefined });
  expect(await watchers(id)).toHaveLength(64);
  const text = await (await call(`/v1/tasks/${id}/events`)).text();
  expect(text.match(/^(?:retry|event|:).*$/gm)).toEqual([
    "retry: 2000",
    "event: task",
    ...Array.from({ length: 60 }, () => ":"),
  ]);
  expect(Date.now()).toBe(START + 15 * MINUTE_MS);
  const pauses = readAt.slice(1).map((at, index) => at - (readAt[index] ?? 0));
  const promised = readAt.map((at) => Math.floor(Math.min(Math.max(5000, at / 8), MINUTE_MS)));
  expect(pauses).toEqual(promised.slice(0, -1));
  expect(pauses.slice(-6)).toEqual(Array.from({ length: 6 }, () => MINUTE_MS));
});

it.each([
  ["one reader leaves", 1],
  ["64 readers leave", 64],
])(
  "while %s every pushed change unread, an event about the task is answered and the callback delivered; later all readers find the result",
  async (_, count) => {
    const received = aReceiver();
    const id = await register();
    const sockets = await watchers(id, count);
    expect(sockets).toHaveLength(count);
    expect((await report(aCompletion(id))).status).toBe(202);
    await until(() => received.length === 1);
    const pushed = await Promise.all(sockets.map((socket) => firstPushes(socket, 2)));
    const news = new Set(pushed.map(([first, second]) => Number(second) > Number(first)));
    expect([...news]).toEqual([true]);
  },
);

/** Reads the first messages that were sent over a WebSocket. */
async function firstPushes(socket: WebSocket, count: number): Promise<readonly string[]> {
  const states: string[] = [];
  socket.addEventListener("message", ({ data }) => {
    states.push(String(data));
  });
  socket.accept();
  await until(() => states.length >= count);
  return states.slice(0, count);
}

it("an event is answered and the task's callback delivered even if no change can be pushed to the readers that wait for the task", async () => {
  const received = aReceiver();
  const id = await register();
  expect(await watchers(id)).toHaveLength(64);
  const sends = await runInDurableObject(stubOf(id), (_, ctx) =>
    ctx.getWebSockets().map((socket) =>
      vi.spyOn(socket, "send").mockImplementation(() => {
        throw new TypeError("Can't call WebSocket send() after close().");
      }),
    ),
  );
  expect((await report(aCompletion(id))).status).toBe(202);
  await until(() => received.length === 1);
  expect(await read(id)).toMatchObject({ status: "completed" });
  expect(sends.filter((send) => send.mock.calls.length > 0)).toHaveLength(64);
});

it("an event stream of which the client leaves a part unread for a minute is broken off, and no longer counts among the readers that wait for the task", async () => {
  const id = await register({ callback_url: undefined });
  waits.between = () => new Promise(() => undefined);
  const { body } = await exports.default.fetch(aRequest(`/v1/tasks/${id}/events`));
  expect(await socketsOf(id)).toBe(1);
  const later = setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((act, ms) =>
    later(act, ms === MINUTE_MS ? 0 : ms),
  );
  const reader = body?.getReader();
  await reader?.read();
  await until(async () => (await socketsOf(id)) === 0);
  const readOn = async () => {
    while ((await reader?.read())?.done === false);
  };
  await expect(readOn()).rejects.toThrow("the client does not read the stream");
});

it("an event stream does not read its task again after its client has gone away", async () => {
  const id = await register({ callback_url: undefined });
  const reads = vi.spyOn(TaskObject.prototype, "read");
  waits.between = () => new Promise(() => undefined);
  const { body } = await exports.default.fetch(aRequest(`/v1/tasks/${id}/events`));
  const reader = body?.getReader();
  const readOn = async () => {
    while ((await reader?.read())?.done === false);
  };
  const ended = Promise.allSettled([readOn()]);
  await until(() => waits.pauses.length === 1);
  await reader?.cancel();
  await ended;
  await until(async () => (await socketsOf(id)) === 0);
  expect(reads).toHaveBeenCalledTimes(1);
});

it.each([
  ["gets changes pushed", 0],
  ["polls the task because 64 others get changes pushed", 64],
])(
  "when a reader that %s stops waiting for a task, its wait ends without another read",
  async (_, others) => {
    const id = await register({ callback_url: undefined });
    await watchers(id, others);
    waits.between = () => new Promise(() => undefined);
    const opened = await TaskWatch.open(env, id, "operator");
    const changed = opened.changed({ version: Number.NaN, createdAt: START }, MINUTE_MS);
    opened.close();
    expect(await changed).toBe(false);
  },
);

it("a reader's WebSocket that the task's Durable Object accepts only after more than 2 s is closed, so that it does not count among the task's readers", async () => {
  const id = await register({ callback_url: undefined });
  const later = setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((act, ms) =>
    later(act, ms === 2000 ? 0 : ms),
  );
  const { promise: late, resolve: answer } = Promise.withResolvers<void>();
  vi.spyOn(TaskObject.prototype, "fetch").mockImplementationOnce(async function (this: TaskObject) {
    await late;
    return this.fetch();
  });
  const accepted = vi.spyOn(Watchers.prototype, "accept");
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  waits.between = () => ended;
  const waiting = call(`/v1/tasks/${id}?wait=5`);
  await until(() => waits.pauses.length === 1);
  answer();
  await until(() => accepted.mock.calls.length === 1);
  await until(async () => (await socketsOf(id)) === 0);
  end();
  await waiting;
});

it.each([
  ["accepts no WebSocket", new Error("overloaded")],
  ["runs a release without WebSockets", new TypeError("does not export a fetch() function")],
])(
  "when the task's Durable Object %s, a request that waits for the task reads the task every 5 s",
  async (_what, error) => {
    vi.spyOn(TaskObject.prototype, "fetch").mockRejectedValue(error);
    const id = await register({ callback_url: undefined });
    waits.between = async (wait) => wait === 2 && report(aCompletion(id)).then(() => false);
    const answer = await call(`/v1/tasks/${id}?wait=60`);
    expect(await taskOf(answer)).toMatchObject({ status: "completed" });
    expect(waits.pauses).toEqual([5000, 5000]);
  },
);

it.each(READERS)(
  "after the platform has closed the WebSocket of %s to the task's Durable Object, the task is read again and another WebSocket opened, which brings the result; after a second such loss the task is read every 5 s",
  async (_, _quiet, follow) => {
    const count = objectRequests();
    const id = await register({ callback_url: undefined });
    const calls: number[] = [];
    waits.between = async (wait) => {
      calls.push(count());
      if (wait > 2) return report(aCompletion(id)).then(() => false);
      expect(await socketsOf(id)).toBe(1);
      await evictDurableObject(stubOf(id), { webSockets: "close" });
      return true;
    };
    expect(await (await follow(id)).text()).toContain('"status":"completed"');
    expect([calls, waits.pauses[2]]).toEqual([[2, 4, 5], 5000]);
  },
);

it.each(READERS)(
  "the WebSocket that replaces a lost one of %s brings the result at once",
  async (_, _quiet, follow) => {
    const id = await register({ callback_url: undefined });
    waits.between = async (wait) => {
      await (wait === 1
        ? evictDurableObject(stubOf(id), { webSockets: "close" })
        : report(aCompletion(id)));
      return true;
    };
    expect(await (await follow(id)).text()).toContain('"status":"completed"');
    expect([waits.pauses.length, Date.now()]).toEqual([2, START]);
  },
);

it("when an event stream fails to read its task after a pushed change, it reads the task again after 5 s instead of at once", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const reads = vi.spyOn(TaskObject.prototype, "readByLink");
  const fault = Object.assign(new Error("Network connection lost."), { retryable: true });
  waits.between = async (wait) => {
    if (wait > 1) return false;
    for (let nth = 0; nth < 3; nth++) reads.mockRejectedValueOnce(fault);
    await report(aCompletion(id));
    return true;
  };
  const text = await (await open(link.replace("?", "/events?"))).text();
  expect(text).toContain('"status":"completed"');
  expect([waits.pauses, reads.mock.calls.length]).toEqual([[15_000, 5000, 5000, 5000], 5]);
});

it("when the task's Durable Object has lost a progress that it pushed, the event stream reads the task once because of the push, and not again and again", async () => {
  const id = await register({ callback_url: undefined });
  const [version] = /\d+/.exec((await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "") ?? [];
  const reads = vi.spyOn(TaskObject.prototype, "read");
  waits.between = async (wait) => {
    if (wait > 1) return report(aCompletion(id)).then(() => true);
    await runInDurableObject(stubOf(id), (_, ctx) => {
      for (const socket of ctx.getWebSockets()) socket.send(`${version}.40`);
    });
    return true;
  };
  await (await call(`/v1/tasks/${id}/events`)).text();
  expect([waits.pauses, reads.mock.calls.length]).toEqual([[15_000, 15_000], 3]);
});

it("of the readers of one status link, 32 can wait in an isolate at a time; another one gets the state at once, and may ask again after 15 s", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  waits.between = () => ended.then(() => true);
  const waiting = Array.from({ length: 32 }, () => open(`${link}&wait=60`));
  await until(() => waits.pauses.length === 32);
  expect(await taskOf(await open(`${link}&wait=60`))).toMatchObject({ status: "pending" });
  const stream = await (await open(link.replace("?", "/events?"))).text();
  expect(stream).toMatch(/^retry: 15000\n\nevent: task\nid: \d+\ndata: \{.*\}\n\n$/);
  const page = await (await open(link, { Accept: "text/html", "X-Refresh": "none" })).text();
  expect(page).toContain('data-refresh="15"');
  expect(waits.pauses).toHaveLength(32);
  await report(aCompletion(id));
  end();
  const answers = await Promise.all(waiting.map(async (each) => taskOf(await each)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(["completed"]));
});

it("readers of one status link whose wait of 60 s is over make room for others, even if the platform ended their requests without notice", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  waits.between = () => ended.then(() => true);
  const waiting = Array.from({ length: 32 }, () => open(`${link}&wait=60`));
  await until(() => waits.pauses.length === 32);
  pass(MINUTE_MS - 1);
  await open(`${link}&wait=60`);
  expect(waits.pauses).toHaveLength(32);
  pass(1);
  const next = open(`${link}&wait=60`);
  await until(() => waits.pauses.length === 33);
  await report(aCompletion(id));
  end();
  await Promise.all([...waiting, next]);
});

const lost = new Error("a fault that the relay does not know");

it.each([
  [
    "the requests were HEAD",
    async (events: string) => {
      expect((await call(events, { key: null, method: "HEAD" })).status).toBe(200);
    },
  ],
  [
    "a read of the task failed",
    async (events: string) => {
      const reads = vi.spyOn(TaskObject.prototype, "readByLink");
      waits.between = async () => void reads.mockRejectedValue(lost);
      // The head of the answer may have come before the fault, which then ends the body.
      await expect(open(events).then((answer) => answer.text())).rejects.toThrow();
      reads.mockRestore();
    },
  ],
])(
  "an event stream that ends because %s no longer counts among the 32 readers that may wait with its status link",
  async (_, readOnce) => {
    const { id, link } = await aLinkedTask({ callback_url: null });
    expect(await watchers(id)).toHaveLength(64);
    for (let nth = 0; nth < 33; nth++) await readOnce(link.replace("?", "/events?"));
    waits.pauses.length = 0;
    waits.between = () => report(aCompletion(id)).then(() => false);
    expect(await taskOf(await open(`${link}&wait=60`))).toMatchObject({ status: "completed" });
    expect(waits.pauses).toHaveLength(1);
  },
);

it("LIMIT_LINKS limits only the requests with one status link from one address, not those from another address, with another link or with a key", async () => {
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
  // In place of the link a browser gets a page.
  const opened = { path: link, key: null, headers: { Accept: "text/html" } };
  expect((await sendFrom("192.0.2.1", bindings, opened)).status).toBe(429);
  expect((await sendFrom("192.0.2.3", bindings, opened)).status).toBe(200);
  expect((await send("192.0.2.2", link)).status).toBe(200);
  expect((await send("192.0.2.1", other.link)).status).toBe(200);
  const withKey = { path: `/v1/tasks/${id}` };
  expect((await sendFrom("192.0.2.1", bindings, withKey)).status).toBe(200);
});
