import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client, SECRETS } from "../harness/client.ts";
import { type Behaviour, closedPort, type Post, Receiver } from "../harness/receiver.ts";
import { type StoredCallback, storedCallback } from "../harness/stored-record.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";

const WAITS_MS = [0, 1000, 2000];
const TIMEOUT_MS = 2000;
/** How much later than planned an attempt may be on a busy machine; earlier it may never be. */
const LATE_MS = 1500;
/** More than what the sockets between the receiver and the relay hold. */
const MANY_BYTES = 32 * 1024 * 1024;

const down: Behaviour = { kind: "answer", status: 500, afterMs: 150, body: "out of order" };
const up: Behaviour = { kind: "answer", status: 200, body: "thank you" };

let relay: WranglerDev;
let receiver: Receiver;
let client: Client;
/** For each request, as it arrived: the attempt it says it is, and whether the file on disk knew of it. */
const arrivals: { readonly said: string; readonly onDisk: unknown }[] = [];

beforeAll(async () => {
  relay = await WranglerDev.start({
    vars: {
      ...SECRETS,
      CALLBACK_SCHEDULE_S: "0,1,2",
      CALLBACK_TIMEOUT_S: "2",
      ALLOW_LOCAL_CALLBACKS: "true",
    },
  });
  client = new Client(relay);
  receiver = await Receiver.start((_path, headers) => {
    const { "x-task-id": id = "", "x-attempt": attempt } = headers;
    const said = `${id} ${attempt}`;
    const state = storedCallback(relay.storage, id)?.state ?? null;
    arrivals.push({
      said,
      onDisk: state?.kind === "in_flight" ? `${id} ${state.number}` : state,
    });
  });
});

afterAll(async () => {
  await relay?.stop();
  await receiver?.stop();
});

/** The settled callback of a new task whose receiver behaves so, and what it had received. */
async function outcomeOf(path: string, ...behaviours: readonly Behaviour[]) {
  const id = await client.finish(receiver.at(path, ...behaviours));
  const { callback } = await client.settled(id);
  return { id, callback, posts: receiver.postsAt(path) };
}

/** What passed from the end of each attempt to the start of the next, by the record and by the receiver. */
function waitsBetween(posts: readonly Post[], stored: StoredCallback | null) {
  const ends = stored?.attempts.map(({ startedAt, durationMs }) => startedAt + durationMs) ?? [];
  return WAITS_MS.slice(1).flatMap((atLeast, i) => [
    { atLeast, waited: difference(stored?.attempts[i + 1]?.startedAt, ends[i]) },
    { atLeast, waited: difference(posts[i + 1]?.arrivedAt, posts[i]?.answeredAt) },
  ]);
}

function difference(later: number | undefined, earlier: number | null | undefined): number {
  return (later ?? NaN) - (earlier ?? NaN);
}

describe.concurrent("the schedule", () => {
  it("keeps the waits, never early, and makes no fourth attempt", async () => {
    const { id, callback, posts } = await outcomeOf("/down", down);
    expect(callback).toMatchObject({
      status: "failed",
      attempts: [1, 2, 3].map((number) => ({
        number,
        series: 1,
        outcome: "rejected",
        status_code: 500,
        response_excerpt: "out of order",
      })),
    });

    for (const { waited, atLeast } of waitsBetween(posts, storedCallback(relay.storage, id))) {
      expect(waited).toBeGreaterThanOrEqual(atLeast);
      expect(waited).toBeLessThan(atLeast + LATE_MS);
    }

    await sleep(4000);
    expect(receiver.postsAt("/down")).toHaveLength(3);
    expect(await client.read(id)).toMatchObject({ callback });
  });

  it("ends with the first success", async () => {
    const { callback, posts } = await outcomeOf("/recovers", down, up);
    expect(callback).toMatchObject({
      status: "delivered",
      attempts: [{ outcome: "rejected" }, { outcome: "delivered", status_code: 200 }],
    });
    await sleep(3000);
    expect(receiver.postsAt("/recovers")).toEqual(posts);
    expect(posts).toHaveLength(2);
  });

  it("sends the same body and webhook-id, and the number of the attempt, each time", async () => {
    const { id, posts } = await outcomeOf("/same", down, down, up);
    expect(posts.map(({ method, headers }) => [method, headers["x-attempt"]])).toEqual([
      ["POST", "1"],
      ["POST", "2"],
      ["POST", "3"],
    ]);
    expect(new Set(posts.map(({ headers }) => headers["webhook-id"]))).toEqual(
      new Set([`msg_${id}`]),
    );
    expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
  });
});

describe.concurrent("a receiver that misbehaves", () => {
  it("is not followed when it redirects", async () => {
    const elsewhere = receiver.at("/elsewhere", up);
    const redirects = [301, 307, 302].map((status): Behaviour => {
      return { kind: "answer", status, headers: { Location: elsewhere } };
    });
    const { callback } = await outcomeOf("/moved", ...redirects);
    expect(callback).toMatchObject({
      status: "failed",
      attempts: [301, 307, 302].map((status_code) => ({ outcome: "redirected", status_code })),
    });
    expect(receiver.postsAt("/elsewhere")).toEqual([]);
  });

  it("has timed out when it never answers", async () => {
    const { callback } = await outcomeOf("/hangs", { kind: "hang" });
    const attempts = callback?.attempts ?? [];
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["timeout", "timeout", "timeout"]);
    for (const { duration_ms } of attempts) {
      expect(duration_ms).toBeGreaterThanOrEqual(TIMEOUT_MS);
      expect(duration_ms).toBeLessThan(TIMEOUT_MS + LATE_MS);
    }
  });

  it("is judged by its status line when it falls silent after the headers", async () => {
    const refuses: Behaviour = { kind: "hang_after_headers", status: 503 };
    const { callback } = await outcomeOf("/silent", refuses, { ...refuses, status: 201 });
    expect(callback).toMatchObject({
      status: "delivered",
      attempts: [
        { outcome: "rejected", status_code: 503 },
        { outcome: "delivered", status_code: 201 },
      ],
    });
    // The one deadline covers the body too.
    for (const { duration_ms } of callback?.attempts ?? []) {
      expect(duration_ms).toBeLessThan(TIMEOUT_MS + LATE_MS);
    }
  });

  it("is read no further than the cap when its body never ends", async () => {
    const { callback, posts } = await outcomeOf("/endless", { kind: "endless_body", status: 200 });
    expect(callback).toMatchObject({
      status: "delivered",
      attempts: [{ outcome: "delivered", response_excerpt: "x".repeat(1024) }],
    });
    expect(callback?.attempts[0]?.duration_ms).toBeLessThan(TIMEOUT_MS);
    // The connection is given back, not left to stand with a full buffer.
    const { closedAt, arrivedAt = NaN, bytesWritten } = { ...posts[0] };
    expect((closedAt ?? NaN) - arrivedAt).toBeLessThan(TIMEOUT_MS);
    expect(bytesWritten).toBeLessThan(MANY_BYTES);
  });

  it("has been delivered to when a 2xx is followed by a broken body", async () => {
    const { callback, posts } = await outcomeOf("/broken", { kind: "broken_body", status: 200 });
    expect(callback).toMatchObject({ status: "delivered", attempts: [{ outcome: "delivered" }] });
    expect(posts).toHaveLength(1);
  });

  it("is unreachable when it closes the connection or refuses it", async () => {
    const attempts = WAITS_MS.map(() => ({ outcome: "unreachable" }));
    const unreachable = { status: "failed", attempts };
    const refusing = client.settled(await client.finish(await closedPort()));
    const { callback } = await outcomeOf("/closes", { kind: "close" });
    expect(callback).toMatchObject(unreachable);
    expect((await refusing).callback).toMatchObject(unreachable);
  });
});

describe("every callback of these tests", () => {
  it("is signed so that the standardwebhooks package accepts it", async () => {
    const verify = await client.verifier();
    for (const post of receiver.posts) expect(verify(post)).toEqual(JSON.parse(post.body));
    const [post] = receiver.posts;
    if (post === undefined) throw new Error("nothing arrived");
    expect(() => verify({ ...post, body: post.body.replace("completed", "failed") })).toThrow();
  });

  it("was in the file of its object before it arrived", () => {
    expect(arrivals.length).toBeGreaterThanOrEqual(20);
    expect(arrivals.map(({ onDisk }) => onDisk)).toEqual(arrivals.map(({ said }) => said));
  });
});
