import { gzipSync } from "node:zlib";
import { expect, it, vi } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { type Behaviour, closedPort, Receiver } from "../harness/receiver.ts";
import { storedCallback } from "../harness/stored-record.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";

const WAITS_MS = [1000, 2000];
const TIMEOUT_MS = 2000;
/** Number of bytes, more than the sockets between the receiver and the relay can buffer. */
const MANY_BYTES = 32 * 1024 * 1024;
const CLOSED_WITHIN_MS = 30_000;

const down: Behaviour = { kind: "answer", status: 500, afterMs: 150, body: "out of order" };
const up: Behaviour = { kind: "answer", status: 200, body: "thank you" };

const vars = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,1,2", CALLBACK_TIMEOUT_S: "2" };
const relay = await forThisFile(WranglerDev.start({ vars }));
/**
 * For each request: the number of the attempt in its headers, and of the attempt that the task's file shows as
 * running at its arrival.
 */
const arrivals: { readonly sent: string; readonly stored: unknown }[] = [];
const onArrival = (_path: string, headers: Readonly<Record<string, string>>) => {
  const { "x-task-id": id = "", "x-attempt": attempt } = headers;
  const state = storedCallback(relay.storage, id)?.state ?? null;
  const stored = state?.kind === "in_flight" ? `${id} ${state.number}` : state;
  arrivals.push({ sent: `${id} ${attempt}`, stored });
};
const receiver = await forThisFile(Receiver.start(onArrival));

/** Ends a task whose receiver behaves in these ways, and waits until its callback is settled. */
async function outcomeOf(path: string, ...behaviours: readonly Behaviour[]) {
  const id = await relay.client.finish(receiver.at(path, ...behaviours));
  const { callback } = await relay.client.settled(id);
  return { id, callback, posts: receiver.postsAt(path) };
}

it.concurrent("a receiver that answers 500 gets three callback attempts, each after the wait that CALLBACK_SCHEDULE_S sets", async () => {
  const { id, callback, posts } = await outcomeOf("/down", down);
  const rejected = { series: 1, outcome: "rejected", status_code: 500 };
  expect(callback).toMatchObject({
    status: "failed",
    attempts: [1, 2, 3].map((number) => {
      return { ...rejected, number, response_excerpt: "out of order" };
    }),
  });
  const stored = storedCallback(relay.storage, id)?.attempts ?? [];
  for (const [i, waitMs] of WAITS_MS.entries()) {
    const { startedAt = NaN, durationMs = NaN } = stored[i] ?? {};
    expect(stored[i + 1]?.startedAt).toBeGreaterThanOrEqual(startedAt + durationMs + waitMs);
    const answeredAt = posts[i]?.answeredAt ?? NaN;
    expect(posts[i + 1]?.arrivedAt).toBeGreaterThanOrEqual(answeredAt + waitMs);
  }
});

it.concurrent("all attempts of a callback have the same body and webhook-id, their numbers increase, and the first success is the last attempt", async () => {
  const { id, callback, posts } = await outcomeOf("/same", down, up);
  expect(callback).toMatchObject({
    status: "delivered",
    attempts: [{ outcome: "rejected" }, { outcome: "delivered", status_code: 200 }],
  });
  const sent = posts.map(({ method, body, headers }) => [
    method,
    headers["webhook-id"],
    headers["x-attempt"],
    body,
  ]);
  expect(sent).toEqual(["1", "2"].map((nth) => ["POST", `msg_${id}`, nth, posts[0]?.body]));
});

const thrice = (outcome: string) => [1, 2, 3].map((number) => ({ number, outcome }));
const packed = gzipSync("x".repeat(1_000_000));

const silent: Behaviour = { kind: "hang_after_headers", status: 503 };

it.concurrent.each<[string, readonly Behaviour[], object]>([
  ["never answers (three times timeout)", [{ kind: "hang" }], thrice("timeout")],
  ["closes the connection (three times unreachable)", [{ kind: "close" }], thrice("unreachable")],
  [
    "sends its headers but no body (rejected for status 503, then delivered for 201)",
    [silent, { ...silent, status: 201 }],
    [
      { outcome: "rejected", status_code: 503 },
      { outcome: "delivered", status_code: 201 },
    ],
  ],
  [
    "answers 200 and closes the connection in the middle of the body (delivered)",
    [{ kind: "broken_body", status: 200 }],
    [{ outcome: "delivered", status_code: 200 }],
  ],
  [
    "names the length of a short answer (delivered, with an excerpt)",
    [{ ...up, headers: { "Content-Length": "9" } }],
    [{ outcome: "delivered", response_excerpt: "thank you" }],
  ],
  [
    "names a length and sends less (delivered)",
    [{ ...up, headers: { "Content-Length": "100" } }],
    [{ outcome: "delivered", status_code: 200 }],
  ],
  [
    "answers with 1 MB that is short while compressed (delivered, with an excerpt)",
    [
      {
        ...up,
        headers: { "Content-Encoding": "gzip", "Content-Length": `${packed.length}` },
        body: packed,
      },
    ],
    [{ outcome: "delivered", response_excerpt: "x".repeat(1024) }],
  ],
])(
  "a callback is attempted up to three times, and no more once it is delivered, when its receiver %s",
  async (what, behaviours, attempts) => {
    const { callback, posts } = await outcomeOf(`/${encodeURIComponent(what)}`, ...behaviours);
    expect(callback?.attempts).toMatchObject(attempts);
    expect(posts).toHaveLength(callback?.attempts.length ?? NaN);
    for (const { outcome, duration_ms } of callback?.attempts ?? []) {
      if (outcome === "timeout") expect(duration_ms).toBeGreaterThanOrEqual(TIMEOUT_MS);
    }
  },
);

it.concurrent("when a receiver refuses the connection, a callback is attempted three times, each time with the outcome unreachable", async () => {
  const id = await relay.client.finish(await closedPort());
  expect((await relay.client.settled(id)).callback).toMatchObject({
    status: "failed",
    attempts: thrice("unreachable"),
  });
});

it.concurrent("when a receiver's response to a callback never ends, the relay reads it up to a limit and then closes the connection", async () => {
  const { callback, posts } = await outcomeOf("/endless", { kind: "endless_body", status: 200 });
  expect(callback).toMatchObject({
    status: "delivered",
    attempts: [{ outcome: "delivered", response_excerpt: "x".repeat(1024) }],
  });
  await vi.waitUntil(() => posts[0]?.closedAt !== null, CLOSED_WITHIN_MS);
  expect(posts[0]?.bytesWritten).toBeLessThan(MANY_BYTES);
});

it("the signatures of all callbacks are accepted by the package standardwebhooks", async () => {
  const verify = await relay.client.verifier();
  for (const post of receiver.posts) expect(verify(post)).toEqual(JSON.parse(post.body));
  const [post] = receiver.posts;
  if (post === undefined) throw new Error("there is no callback");
  expect(() => verify({ ...post, body: post.body.replace("completed", "failed") })).toThrow();
});

it("each callback attempt is stored on disk before its request arrives at the receiver", () => {
  expect(arrivals.length).toBeGreaterThanOrEqual(14);
  expect(arrivals.map(({ stored }) => stored)).toEqual(arrivals.map(({ sent }) => sent));
});

it("after the last attempt of a callback, the receiver gets no further request", () => {
  expect(receiver.postsAt("/down")).toHaveLength(3);
  expect(receiver.postsAt("/same")).toHaveLength(2);
});
