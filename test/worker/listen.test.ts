import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "../../src/startup.ts";
import { afterEach, expect, it, vi } from "vitest";
import * as z from "zod";
import { ListenersObject } from "../../src/objects/listeners/listeners-object.ts";
import { listenersObject } from "../../src/objects/object-names.ts";
import { answerRequest } from "../../src/app.ts";
import { aKey, anAccount } from "./accounts.ts";
import { aRequest, call, callWith, invalid, post, refusal, UNAUTHENTICATED } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { untilIdle } from "./objects.ts";
import { aCompletion, completed, finish, read, redeliver, register, report } from "./tasks.ts";

useClock();

const UPGRADE = { headers: { Upgrade: "websocket" } };
const Message = z.looseObject({ id: z.string(), headers: z.record(z.string(), z.string()) });

/** A connected listener with the callbacks that it has received. */
interface Listener {
  readonly socket: WebSocket;
  readonly received: z.output<typeof Message>[];
  readonly closed: { code: number; reason: string }[];
  readonly pongs: string[];
}

/** Answers a callback; the text is sent as it is. */
type Behaviour = (id: string, socket: WebSocket) => object | string | null;

const answers = (status: number, fields: object = {}): Behaviour => {
  return (id) => ({ id, status, headers: {}, body: "", ...fields });
};
const isDown: Behaviour = (id) => ({ id, cause: "refused" });
const isSilent: Behaviour = () => null;

const open: WebSocket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.close();
});

async function aListener(key: string, behaviour: Behaviour): Promise<Listener> {
  // `call` would read the answer, which has no body.
  const { webSocket: socket } = await answerRequest(
    aRequest("/v1/listen", { key, ...UPGRADE }),
    env,
  );
  if (socket === null) throw new Error("the answer has no WebSocket");
  const listener: Listener = { socket, received: [], closed: [], pongs: [] };
  socket.addEventListener("message", ({ data }) => {
    if (data === "pong") return void listener.pongs.push(data);
    const message = Message.safeParse(JSON.parse(String(data))).data;
    if (message === undefined) return;
    listener.received.push(message);
    const answer = behaviour(message.id, socket);
    if (answer !== null) socket.send(typeof answer === "string" ? answer : JSON.stringify(answer));
  });
  socket.addEventListener("close", ({ code, reason }) => {
    listener.closed.push({ code, reason });
  });
  socket.accept();
  open.push(socket);
  return listener;
}

/** Sends a ping as a listener does, and waits for the answer of the platform. */
async function pinged(listener: Listener | undefined): Promise<void> {
  listener?.socket.send("ping");
  await until(() => listener?.pongs.length === 1);
}

/** Creates an account with a key, and the listeners that behave like this. */
async function listening(...behaviours: readonly Behaviour[]) {
  const account = await anAccount();
  const { id, key } = await aKey(account);
  const listeners: Listener[] = [];
  for (const behaviour of behaviours) listeners.push(await aListener(key, behaviour));
  return { account, keyId: id, key, listeners };
}

const Attempts = z.object({ callback: z.object({ attempts: z.array(z.looseObject({})) }) });

/** Returns the attempts of a task of the account after the first. */
async function attemptsOf(account: string) {
  const id = await completed({ account, callback_url: "listen:" });
  return Attempts.parse(await read(id)).callback.attempts;
}

it.each([
  ["delivered", "an answer with the status 204", answers(204), { status_code: 204 }],
  ["rejected", "an answer with the status 503", answers(503), { status_code: 503 }],
  [
    "delivered",
    "an answer with a body and headers",
    answers(200, { headers: { "content-type": "text/plain" }, body: "x".repeat(4000) }),
    { response_excerpt: "x".repeat(1024), answer: { content_type: "text/plain" } },
  ],
  ["delivered", "an answer with a body that its status forbids", answers(204, { body: "x" }), {}],
  ["unreachable", "its message that its HTTP receiver is down", isDown, { cause: "refused" }],
  [
    "unreachable",
    "the end of the WebSocket",
    (_, socket) => {
      socket.close();
      return null;
    },
    { cause: "other" },
  ],
] as const satisfies readonly (readonly [string, string, Behaviour, object])[])(
  "a callback to a listener, which is a client on a WebSocket, has the outcome %s after %s",
  async (outcome, _, behaviour, more) => {
    const { account, listeners } = await listening(behaviour);
    expect(await attemptsOf(account)).toMatchObject([{ outcome, ...more }]);
    expect(listeners.map(({ received }) => received.length)).toEqual([1]);
  },
);

it("a listener gets the progress callbacks of a task that asks for them", async () => {
  const { account, listeners } = await listening(answers(204));
  const id = await register({
    account,
    callback_url: "listen:",
    callback_events: ["completed", "progress"],
  });
  await report({ id, status: "processing" });
  await until(() => listeners[0]?.received.length === 1);
  expect(listeners[0]?.received).toMatchObject([
    { headers: { "X-Event": "task.processing", "X-Task-Id": id } },
  ]);
});

it("when no client of the account listens, a callback to the callback_url listen: has the outcome unreachable and the cause no_listener", async () => {
  const { account } = await listening();
  await listening(answers(200));
  const attempt = { outcome: "unreachable", cause: "no_listener" };
  expect(await attemptsOf(account)).toMatchObject([attempt]);
});

it.each([
  ["that of the client that answers first", [answers(201), isSilent], { status_code: 201 }],
  [
    "that of the client that answers, when the other one reports that its HTTP receiver is down",
    [isDown, answers(202)],
    { status_code: 202 },
  ],
  [
    "unreachable, when both report that their HTTP receivers are down",
    [isDown, isDown],
    { outcome: "unreachable", cause: "refused" },
  ],
] as const)(
  "when two clients of an account listen on WebSockets, both receive a callback, and the stored outcome is %s",
  async (_, behaviours, attempt) => {
    const { account, listeners } = await listening(...behaviours);
    expect(await attemptsOf(account)).toMatchObject([attempt]);
    const [one, other] = listeners.map(({ received }) => received);
    expect(one).toEqual([expect.objectContaining({ headers: other?.[0]?.headers })]);
  },
);

it.each([
  ["that is no JSON", "{"],
  ["that is binary", new TextEncoder().encode("{}")],
  ["without the required members", { headers: undefined }],
  ["about an unknown callback", { id: "x" }],
  ["with an impossible status", { status: 999 }],
  ["with the header Set-Cookie", { headers: { "set-cookie": "a" } }],
  ["with a line break in a header", { headers: { location: "/a\r\nSet-Cookie: b" } }],
  ["of more than 32 KiB", { body: "x".repeat(32_768) }],
] as const)(
  "a listener's WebSocket message %s changes nothing, and neither does a listener's second answer to the same callback",
  async (_, wrong) => {
    const { account, listeners } = await listening((id, socket) => {
      const answer = { id, status: 203, headers: {}, body: "" };
      const isRaw = typeof wrong === "string" || wrong instanceof Uint8Array;
      socket.send(isRaw ? wrong : JSON.stringify({ ...answer, status: 500, ...wrong }));
      socket.send(JSON.stringify(answer));
      return { ...answer, status: 500 };
    });
    expect(await attemptsOf(account)).toMatchObject([{ status_code: 203 }]);
    expect(listeners[0]?.closed).toEqual([]);
  },
);

it("a listener's WebSocket stays open when the Durable Object that holds it is evicted from memory", async () => {
  const { account, listeners } = await listening(answers(200));
  await attemptsOf(account);
  await evictDurableObject(listenersObject(env, account));
  expect(await attemptsOf(account)).toMatchObject([{ outcome: "delivered" }]);
  expect(listeners[0]?.received).toHaveLength(2);
});

it("when a deployment resets the Durable Object that holds a listener's WebSocket, a callback attempt over it has the outcome interrupted", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  await aListener(key, () => {
    const reset = runInDurableObject(listenersObject(env, account), (_, state) => state.abort());
    reset.catch(() => {});
    return null;
  });
  expect(await attemptsOf(account)).toMatchObject([{ outcome: "interrupted" }]);
});

it("deleting an API key closes the WebSockets that listeners opened with this key, and no others", async () => {
  const { account, keyId, key, listeners } = await listening(isSilent);
  const other = await aListener((await aKey(account)).key, answers(200));
  await call(`/v1/accounts/${account}/keys/${keyId}`, { method: "DELETE" });
  await until(() => listeners[0]?.closed.length === 1);
  expect(listeners[0]?.closed).toMatchObject([{ code: 1008 }]);
  expect(await attemptsOf(account)).toMatchObject([{ outcome: "delivered" }]);
  expect(other.closed).toEqual([]);
  expect(await refusal(await call("/v1/listen", { key, ...UPGRADE }))).toEqual(UNAUTHENTICATED);
});

it("deleting an account closes the WebSockets of its listeners", async () => {
  const { account, listeners } = await listening(isSilent);
  await call(`/v1/accounts/${account}?force=true`, { method: "DELETE" });
  await until(() => listeners[0]?.closed.length === 1);
  expect(listeners[0]?.closed).toMatchObject([{ code: 1008 }]);
});

it("when an account's eleventh listener opens a WebSocket, the listener's WebSocket that was silent the longest is closed", async () => {
  // The platform notes pings by its own clock.
  vi.setSystemTime(vi.getRealSystemTime() - 30_000);
  const { key, listeners } = await listening();
  for (let n = 0; n < 10; n++) {
    listeners.push(await aListener(key, isSilent));
    pass(1_000);
  }
  const [first, second] = listeners;
  await pinged(first);
  vi.setSystemTime(vi.getRealSystemTime());
  listeners.push(await aListener(key, isSilent));
  const closed = () => listeners.filter((listener) => listener.closed.length > 0);
  await until(() => closed().length > 0);
  expect(closed()).toEqual([second]);
  expect(second?.closed).toMatchObject([{ code: 1008 }]);
});

it("a listener that has sent no ping for 60 s gets no callbacks, and its WebSocket is closed", async () => {
  vi.setSystemTime(vi.getRealSystemTime() - 60_000);
  const { account, listeners } = await listening(isSilent, answers(200));
  const [silent, pinging] = listeners;
  await pinged(pinging);
  vi.setSystemTime(vi.getRealSystemTime());
  expect(await attemptsOf(account)).toMatchObject([{ outcome: "delivered" }]);
  await until(() => silent?.closed.length === 1);
  expect([silent?.received, silent?.closed]).toMatchObject([[], [{ code: 1001 }]]);
  pinging?.socket.close();
  await until(async () => (await attemptsOf(account))[0]?.["cause"] === "no_listener");
});

it("a callback is delivered when one listener answers it, even if another listener reports first that it cannot reach its receiver", async () => {
  const handled = vi.spyOn(ListenersObject.prototype, "webSocketMessage");
  const late: Behaviour = (id, socket) => {
    const answer = JSON.stringify({ id, status: 204, headers: {}, body: "" });
    void until(() => handled.mock.settledResults.length > 0).then(() => socket.send(answer));
    return null;
  };
  const { account } = await listening(late, isDown);
  expect(await attemptsOf(account)).toMatchObject([{ outcome: "delivered", status_code: 204 }]);
});

it("when 40 listeners of an account connect at the same time, 10 stay connected, and only these receive a callback", async () => {
  const { account, key } = await listening();
  const all = await Promise.all(Array.from({ length: 40 }, () => aListener(key, answers(200))));
  const connected = () => all.filter(({ closed }) => closed.length === 0);
  await until(() => connected().length <= 10);
  expect(await attemptsOf(account)).toMatchObject([{ outcome: "delivered" }]);
  await until(() => connected().every(({ received }) => received.length === 1));
  expect(connected()).toHaveLength(10);
  const displaced = all.filter(({ closed }) => closed.length > 0);
  for (const { received, closed } of displaced) {
    expect([received, closed]).toMatchObject([[], [{ code: 1008 }]]);
  }
});

it("GET /v1/listen without the header Upgrade gets 400", async () => {
  const { key } = await listening();
  expect(await refusal(await call("/v1/listen", { key }))).toEqual(invalid("/Upgrade"));
});

it("GET /v1/listen gets 404 when the variable LISTEN is not true", async () => {
  const { key } = await listening();
  const off = { ...env, LISTEN: "false" };
  const answer = await refusal(await callWith(off, "/v1/listen", { key, ...UPGRADE }));
  expect(answer).toEqual({ status: 404, code: "not_found" });
});

const LISTEN = { callback_url: "listen:" };

it("for a task without an account, the callback_url listen: gets 400 in a registration, an event, a redelivery and a test callback", async () => {
  const task = await completed({ callback_url: undefined });
  const model = "m";
  const event = aCompletion(crypto.randomUUID(), { model, ...LISTEN });
  for (const response of [
    await post("/v1/tasks", { model, ...LISTEN }),
    await report(event),
    await redeliver(task, LISTEN),
    await post("/v1/callbacks/test", LISTEN),
  ]) {
    expect(await refusal(response)).toEqual(invalid("/callback_url"));
  }
});

it("for a task with an account, the callback_url listen: gets 400 when the variable LISTEN is not true", async () => {
  const body = { model: "m", account: await anAccount(), ...LISTEN };
  const off = { ...env, LISTEN: "false" };
  const response = await callWith(off, "/v1/tasks", { body });
  expect(await refusal(response)).toEqual(invalid("/callback_url"));
});

it("a listener gets on its WebSocket the callbacks with the callback_url listen: of a task that an event created, of a redelivery and of a test", async () => {
  const { account, key, listeners } = await listening(answers(200));
  const id = crypto.randomUUID();
  await finish(aCompletion(id, { model: "m", account, ...LISTEN }));
  const elsewhere = await register({ account, callback_url: undefined });
  await finish(aCompletion(elsewhere));
  await redeliver(elsewhere, LISTEN, { key });
  await untilIdle(elsewhere);
  const test = await post("/v1/callbacks/test", LISTEN, { key });
  expect(await test.json()).toMatchObject({ outcome: "delivered", status_code: 200 });
  const ids = listeners[0]?.received.map(({ headers }) => headers["X-Task-Id"]);
  expect(ids).toEqual([id, elsewhere, expect.any(String)]);
});
