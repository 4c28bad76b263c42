import { randomUUID, verify as verifyEd25519 } from "node:crypto";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, vi } from "vitest";
import { ROOT } from "../harness/child.ts";
import { completedEvent, LOCAL_VARS, OPERATOR_KEY, SECRETS, Task } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { type Behaviour, type Post, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { derived, publicHalf, whsec } from "../secrets/derived.ts";

// `npm run bench` compares the relay with a Worker written by hand that keeps the same promises. Each test but
// the last runs with both, so that the Worker keeps what the relay keeps.

const SERVERS = [
  ["relay", {}],
  [
    "minimal Worker of npm run bench",
    { entry: join(ROOT, "bench/throughput/promises-worker.ts"), hasIndex: false },
  ],
] as const;
const FAST = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,1,2", CALLBACK_TIMEOUT_S: "2" };
const TIMEOUT_MS = 2_000;
const WITHIN_MS = 40_000;
const VIDEO = "https://cdn.example.com/video.mp4";

const receiver = await forThisFile(Receiver.start());
const up: Behaviour = { kind: "answer", status: 200, body: "thank you" };
const down: Behaviour = { kind: "answer", status: 500, body: "out of order" };

interface Asked {
  readonly status: number;
  readonly json: unknown;
}

async function ask(
  { url }: Workerd,
  method: string,
  path: string,
  body?: string,
  key = OPERATOR_KEY,
): Promise<Asked> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const sent = body === undefined ? {} : { body };
  const answer = await fetch(url + path, { method, headers, ...sent });
  const json: unknown = await answer.json();
  return { status: answer.status, json };
}

async function report(server: Workerd, event: object): Promise<Asked> {
  return ask(server, "POST", "/v1/events", JSON.stringify(event));
}

async function read(server: Workerd, id: string): Promise<Task> {
  return Task.parse((await ask(server, "GET", `/v1/tasks/${id}`)).json);
}

/** Waits until the callback of a task is settled. @returns it, and the requests that the receiver got. */
async function settled(server: Workerd, id: string, path: string) {
  const isSettled = async () =>
    !["sending", "retrying"].includes((await read(server, id)).callback?.status ?? "");
  await vi.waitUntil(isSettled, { timeout: WITHIN_MS, interval: 100 });
  return { callback: (await read(server, id)).callback, posts: receiver.postsAt(path) };
}

/** Ends a task whose receiver behaves in these ways, and waits until its callback is settled. */
async function outcomeOf(server: Workerd, ...behaviours: readonly Behaviour[]) {
  const id = randomUUID();
  const event = completedEvent(id, receiver.at(`/${id}`, ...behaviours));
  expect((await report(server, event)).status).toBe(202);
  return { id, event, ...(await settled(server, id, `/${id}`)) };
}

const thrice = (outcome: string) => [1, 2, 3].map((number) => ({ number, outcome }));

describe.each(SERVERS)("%s", async (name, options) => {
  const server = await forThisFile(Workerd.start({ vars: FAST, ...options }));

  it.concurrent.each(["", "wrong", `${OPERATOR_KEY}x`])(
    `${name}: a request with the wrong key "%s" is refused, and creates no task`,
    async (key) => {
      const id = randomUUID();
      const event = JSON.stringify(completedEvent(id, receiver.at(`/${id}`, up)));
      expect((await ask(server, "POST", "/v1/events", event, key)).status).toBe(401);
      expect((await ask(server, "GET", `/v1/tasks/${id}`, undefined, key)).status).toBe(401);
      expect((await ask(server, "GET", `/v1/tasks/${id}`)).status).toBe(404);
      expect(receiver.postsAt(`/${id}`)).toEqual([]);
    },
  );

  it.concurrent.each<[what: string, fields: object]>([
    ["an id that is no UUID", { id: "task-1" }],
    ["an unknown status", { status: "done" }],
    ["a model of 257 characters", { model: "m".repeat(257) }],
    ["a callback_url that is no URL", { callback_url: "client.example.com" }],
    ["a callback_url with a private IPv4 address", { callback_url: "https://10.0.0.1/" }],
    ["a callback_url with a user name", { callback_url: "https://user@client.example.com/" }],
    ["a long callback_url", { callback_url: `https://client.example.com/${"x".repeat(2048)}` }],
    ["a created_at that is no number", { created_at: "today" }],
    ["both an output and an error", { error: { code: "c", message: "m" } }],
    ["no output", { output: null }],
    ["an output URL of another scheme", { output: { urls: ["ftp://cdn.example.com/"] } }],
    ["1001 output URLs", { output: { urls: Array.from({ length: 1001 }, () => VIDEO) } }],
    ["metadata that is a list", { output: { urls: [VIDEO], metadata: [] } }],
  ])(`${name}: an event with %s is refused with 400`, async (_, fields) => {
    const event = { ...completedEvent(randomUUID(), receiver.at("/refused", up)), ...fields };
    expect((await report(server, event)).status).toBe(400);
    expect((await ask(server, "GET", `/v1/tasks/${event.id}`)).status).not.toBe(200);
    expect(receiver.postsAt("/refused")).toEqual([]);
  });

  it.concurrent(`${name}: an event is refused when its body is not JSON or has more than 256 KB`, async () => {
    expect((await ask(server, "POST", "/v1/events", "{")).status).toBe(400);
    const large = { ...completedEvent(randomUUID(), ""), more: "x".repeat(256 * 1024) };
    expect((await report(server, large)).status).toBe(413);
  });

  it.concurrent(`${name}: only the first result of a task counts; the same result again is answered with 200, and another result is refused with 409`, async () => {
    const { id, event, posts } = await outcomeOf(server, up);
    const { output } = event;
    const other = { ...event, output: { ...output, urls: ["https://cdn.example.com/other.mp4"] } };
    expect([await report(server, event), await report(server, other)]).toMatchObject([
      { status: 200, json: { id, output, callback: { status: "delivered" } } },
      { status: 409 },
    ]);
    expect((await ask(server, "GET", `/v1/tasks/${id}`)).json).toMatchObject({ id, output });
    expect(posts).toHaveLength(1);
    expect(receiver.postsAt(`/${id}`)).toHaveLength(1);
  });

  it.concurrent(`${name}: the callback of a task has the documented headers and body, and the two signatures v1 and v1a`, async () => {
    const { id, event, posts } = await outcomeOf(server, up);
    const [post] = posts;
    if (post === undefined) throw new Error("there is no callback");
    expect(Object.keys(JSON.parse(post.body))).toEqual([
      "id",
      "status",
      "model",
      "created_at",
      "completed_at",
      "output",
    ]);
    const { status, model, output } = event;
    expect(signedBodyOf(post)).toMatchObject({ id, status, model, output });
    expect(sentHeadersOf(post)).toEqual({
      "content-type": "application/json",
      "user-agent": `TaskRelay/1 (+${server.url})`,
      "x-event": "task.completed",
      "x-task-id": id,
      "x-timestamp": post.headers["webhook-timestamp"],
      "x-attempt": "1",
      "webhook-id": `msg_${id}`,
      "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
      "webhook-signature": expect.stringMatching(/^v1,\S{44} v1a,\S{88}$/),
    });
  });

  it.concurrent(`${name}: a callback that fails is attempted three times with the same body, and each time after the configured wait`, async () => {
    const { callback, posts } = await outcomeOf(server, down);
    const rejected = { outcome: "rejected", status_code: 500, response_excerpt: "out of order" };
    expect(callback).toMatchObject({
      status: "failed",
      attempts: [1, 2, 3].map((number) => ({ number, ...rejected })),
    });
    expect(posts.map(({ headers }) => headers["x-attempt"])).toEqual(["1", "2", "3"]);
    expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
    for (const [i, waitMs] of [1000, 2000].entries()) {
      const answeredAt = posts[i]?.answeredAt ?? NaN;
      expect(posts[i + 1]?.arrivedAt).toBeGreaterThanOrEqual(answeredAt + waitMs);
    }
  });

  it.concurrent.each<[string, readonly Behaviour[], object]>([
    ["never answers", [{ kind: "hang" }], thrice("timeout")],
    ["closes the connection", [{ kind: "close" }], thrice("unreachable")],
    [
      "redirects, and then answers 204",
      [
        { kind: "answer", status: 302, headers: { Location: "/elsewhere" } },
        { kind: "answer", status: 204 },
      ],
      [{ outcome: "redirected" }, { outcome: "delivered", status_code: 204 }],
    ],
    [
      "sends headers without a body, with 503 and then 201",
      [
        { kind: "hang_after_headers", status: 503 },
        { kind: "hang_after_headers", status: 201 },
      ],
      [{ outcome: "rejected" }, { outcome: "delivered", status_code: 201 }],
    ],
    [
      "answers without an end",
      [{ kind: "endless_body", status: 200 }],
      [{ outcome: "delivered", response_excerpt: "x".repeat(1024) }],
    ],
    [
      "answers with a text",
      [{ kind: "answer", status: 200, body: "grüezi" }],
      [{ outcome: "delivered", response_excerpt: "grüezi" }],
    ],
  ])(
    `${name}: the outcome of each callback attempt fits the behaviour of a receiver that %s`,
    async (_, behaviours, attempts) => {
      const { callback, posts } = await outcomeOf(server, ...behaviours);
      expect(callback?.attempts).toMatchObject(attempts);
      expect(posts).toHaveLength(callback?.attempts.length ?? NaN);
      for (const { outcome, duration_ms } of callback?.attempts ?? []) {
        if (outcome === "timeout") expect(duration_ms).toBeGreaterThanOrEqual(TIMEOUT_MS);
      }
      await vi.waitUntil(() => posts.every(({ closedAt }) => closedAt !== null), WITHIN_MS);
    },
  );

  it.concurrent(`${name}: a task whose callback was delivered has exactly one line in the log`, async () => {
    const { id } = await outcomeOf(server, up);
    const lines = server.output.split("\n").filter((line) => line.includes(id));
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { event: "task.settled", task_id: id, callback: "delivered", attempts: 1 },
    ]);
  });

  it.concurrent(`${name}: when kill -9 interrupts a callback attempt, the task's alarm finds this after the restart, and the next attempt follows`, async () => {
    await using crashing = await Workerd.start({ vars: FAST, ...options });
    const id = randomUUID();
    await report(crashing, completedEvent(id, receiver.at(`/${id}`, { kind: "hang" }, up)));
    await vi.waitUntil(() => receiver.postsAt(`/${id}`).length === 1, WITHIN_MS);
    await crashing.restart();
    await vi.waitUntil(() => receiver.postsAt(`/${id}`).length === 2, WITHIN_MS);
    const { callback, posts } = await settled(crashing, id, `/${id}`);
    expect(callback).toMatchObject({
      status: "delivered",
      attempts: [
        { number: 1, outcome: "interrupted" },
        { number: 2, outcome: "delivered" },
      ],
    });
    expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
  });

  it.concurrent(`${name}: a planned callback attempt is made even after kill -9 and a restart; without CALLBACK_SCHEDULE_S the second attempt is planned 180 s ahead`, async () => {
    const vars = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,3" };
    await using crashing = await Workerd.start({ vars, ...options });
    const id = randomUUID();
    await report(crashing, completedEvent(id, receiver.at(`/${id}`, down, up)));
    const isPlanned = async () => (await read(crashing, id)).callback?.attempts.length === 1;
    const hasPlan = async () => (await isPlanned()) && (await planOf(crashing, id)) !== undefined;
    await vi.waitUntil(hasPlan, { timeout: WITHIN_MS });
    await crashing.restart();
    expect((await settled(crashing, id, `/${id}`)).callback).toMatchObject({
      status: "delivered",
      attempts: [{ outcome: "rejected" }, { outcome: "delivered" }],
    });
    await crashing.restart(LOCAL_VARS);
    const later = randomUUID();
    await report(crashing, completedEvent(later, receiver.at(`/${later}`, down)));
    await vi.waitUntil(async () => (await planOf(crashing, later)) !== undefined, WITHIN_MS);
    const { callback } = await read(crashing, later);
    const { started_at = NaN, duration_ms = NaN } = callback?.attempts[0] ?? {};
    const waitS = (callback?.next_attempt_at ?? NaN) - started_at;
    expect(waitS).toBeGreaterThanOrEqual(180);
    expect(waitS).toBeLessThanOrEqual(181 + Math.ceil(duration_ms / 1000));
  });
});

it("the minimal Worker with which npm run bench compares the relay erases a task with a delivered callback once the RETENTION_DAYS are over", async () => {
  const [, [, options]] = SERVERS;
  const vars = { ...FAST, RETENTION_DAYS: String(2 / 86_400) };
  await using server = await Workerd.start({ vars, ...options });
  const { id, callback } = await outcomeOf(server, up);
  expect(callback?.status).toBe("delivered");
  const isGone = async () => (await ask(server, "GET", `/v1/tasks/${id}`)).status === 404;
  await vi.waitUntil(isGone, { timeout: WITHIN_MS, interval: 100 });
});

async function planOf(server: Workerd, id: string): Promise<number | undefined> {
  return (await read(server, id)).callback?.next_attempt_at;
}

/** Returns the headers of a callback without those of the connection. */
function sentHeadersOf({ headers }: Post): Readonly<Record<string, string>> {
  const { host: _, "content-length": __, connection: ___, ...sent } = headers;
  return sent;
}

/** Returns the body of a callback. @throws when one of its two signatures is not valid. */
function signedBodyOf({ body, headers }: Post): unknown {
  const webhook = new Webhook(whsec(derived(SECRETS.RELAY_SECRET, "callbacks")));
  const verified = webhook.verify(body, headers);
  const [, signature = ""] = /v1a,(\S+)/.exec(headers["webhook-signature"] ?? "") ?? [];
  const x = publicHalf(derived(SECRETS.RELAY_SECRET, "ed25519"));
  const key = { key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" } as const;
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const isValid = verifyEd25519(null, Buffer.from(content), key, Buffer.from(signature, "base64"));
  if (!isValid) throw new Error("the Ed25519 signature is not valid");
  return verified;
}
