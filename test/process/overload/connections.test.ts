import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Client, completedEvent, SECRETS, type Task } from "../harness/client.ts";
import { StarvedRelay } from "./limited-relay.ts";
import { inParallel } from "../harness/parallel.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";

const CONNECTIONS = 500;
/** Enough for a relay with so few files. */
const FEWER_CONNECTIONS = 150;
const EARLIER = 20;
const MAX_ATTEMPTS = 3;
const PARALLEL = 8;
const FILES_LEFT = 60;
const TAKES: Behaviour = { kind: "answer", status: 200 };
const FAILS: Behaviour = { kind: "answer", status: 500 };

interface Sent {
  readonly id: string;
  /** Null: the connection was refused, or closed without an answer. */
  readonly status: number | null;
  readonly retryAfter: string | null;
}

interface End {
  readonly task: Task;
  readonly posts: number;
}

// The limits of a running process can be set on Linux alone.
describe.skipIf(process.platform !== "linux")("hundreds of connections at once", () => {
  it("are answered 2xx, or 503 with Retry-After, and each event settles once", async () => {
    const { sent, ends } = await burst(CONNECTIONS, null);
    expect(sent.filter((each) => !isTaken(each) && !isRefused(each))).toEqual([]);
    expect(ends.flatMap(faultsOf)).toEqual([]);
  });

  // The runtime ends itself when it cannot accept a connection, so no answer can be promised here.
  it("may end a relay that cannot open so many files, and what it took settles once", async () => {
    const { sent, ends } = await burst(FEWER_CONNECTIONS, FILES_LEFT);
    const answered = sent.filter(({ status }) => status !== null);
    expect(answered.filter((each) => !isTaken(each) && !isRefused(each))).toEqual([]);
    expect(ends.flatMap(faultsOf)).toEqual([]);
    // It was a test: the relay could not take them all.
    expect(sent.every(isTaken)).toBe(false);
  });
});

/**
 * An event on each connection, after some whose second attempts are still to come; what was not taken
 * comes again when a new process lacks nothing.
 */
async function burst(connections: number, filesLeft: number | null) {
  await using receiver = await Receiver.start();
  await using relay = await StarvedRelay.start({
    ...SECRETS,
    CALLBACK_SCHEDULE_S: "0,2,2",
    // Long, for slow machines: an answer that comes late is no reason for another attempt.
    CALLBACK_TIMEOUT_S: "25",
    ALLOW_LOCAL_CALLBACKS: "true",
  });
  const client = new Client(relay);
  const send = async (id: string, ...behaviours: readonly Behaviour[]): Promise<Sent> => {
    const event = completedEvent(id, receiver.at(`/${id}`, ...behaviours));
    try {
      const response = await client.send("POST", "/v1/events", event);
      await response.text();
      const { status, headers } = response;
      return { id, status, retryAfter: headers.get("Retry-After") };
    } catch {
      return { id, status: null, retryAfter: null };
    }
  };

  const earlier = Array.from({ length: EARLIER }, () => randomUUID());
  await inParallel(PARALLEL, earlier, (id) => send(id, FAILS, TAKES));
  if (filesLeft !== null) relay.starve({ what: "open_files", left: filesLeft });
  const ids = Array.from({ length: connections }, () => randomUUID());
  const sent = await Promise.all(ids.map((id) => send(id, TAKES)));
  if (filesLeft !== null) await relay.restart();
  const untaken = sent.filter((each) => !isTaken(each));
  const again = await inParallel(PARALLEL, untaken, ({ id }) => send(id, TAKES));
  const ends = await inParallel(PARALLEL, [...earlier, ...ids], async (id): Promise<End> => {
    return { task: await client.settled(id, 120_000), posts: receiver.postsAt(`/${id}`).length };
  });
  console.log(`answers ${countsOf(sent)}; again ${countsOf(again)}`);
  return { sent, ends };
}

function isTaken({ status }: Sent): boolean {
  return status === 202;
}

function isRefused({ status, retryAfter }: Sent): boolean {
  return status === 503 && Number(retryAfter) > 0;
}

function faultsOf({ task, posts }: End): string[] {
  const attempts = task.callback?.attempts ?? [];
  const delivered = attempts.filter(({ outcome }) => outcome === "delivered");
  const isRight =
    task.callback?.status === "delivered" &&
    delivered.length === 1 &&
    attempts.length <= MAX_ATTEMPTS &&
    posts <= attempts.length;
  return isRight ? [] : [`${JSON.stringify(task)}, ${posts} POSTs`];
}

function countsOf(sent: readonly Sent[]): string {
  const groups = Map.groupBy(sent, ({ status }) => status ?? "none");
  return [...groups].map(([status, same]) => `${status} ${same.length}`).join(", ");
}
