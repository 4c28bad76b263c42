import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { expect, it, vi } from "vitest";
import { type EndedTask, type OpenTask, TaskRelay } from "../../../client/src/index.ts";
import { completedEvent, LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { bundleOf, Workerd } from "../harness/workerd.ts";
import { keptBundle } from "../../kept-release/bundle.ts";

const ENTRY = "watched.ts";
const PATIENCE = { timeout: 60_000, interval: 20 };

/** A client that waits for one task. */
interface Reader {
  readonly ended: Promise<EndedTask>;
  /** Statuses that it was told while the task was open. */
  readonly seen: string[];
  /** Paths and queries of its requests. */
  readonly asked: string[];
}

/** Waits for a task with the client. @param hasStreams false for a runtime that cannot read streams. */
function reader(relay: Workerd, id: string, hasStreams: boolean, signal?: AbortSignal): Reader {
  const [seen, asked]: [string[], string[]] = [[], []];
  const client = new TaskRelay({
    url: relay.url,
    key: OPERATOR_KEY,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      asked.push(pathname.slice(`/v1/tasks/${id}`.length) + search);
      const isStream = pathname.endsWith("/events");
      return isStream && !hasStreams ? new Response(null, { status: 404 }) : fetch(request);
    },
  });
  const onChange = ({ status }: OpenTask) => seen.push(status);
  const ended = client.waitFor(id, { onChange, ...(signal !== undefined && { signal }) });
  // A test that awaits it later learns the error then.
  ended.catch(() => {});
  return { ended, seen, asked };
}

/** Registers a task. The release that answers may be an earlier one, of which there is no description. */
async function openTask({ client }: Workerd, fields: object = {}): Promise<string> {
  const id = randomUUID();
  const { status } = await client.send("POST", "/v1/tasks", { id, model: "m", ...fields });
  expect(status).toBe(201);
  return id;
}

async function complete({ client }: Workerd, id: string): Promise<void> {
  const output = { urls: ["https://cdn.example.com/a.mp4"] };
  const { status } = await client.send("POST", "/v1/events", { id, status: "completed", output });
  expect(status).toBe(202);
}

/** Counts the lines of a relay's log about a task. */
const linesOf = ({ output }: Workerd, word: string, id: string) =>
  output.split(`${word} ${id}`).length - 1;

/** Waits until a number of readers have begun to watch a task. */
const watchedBy = (relay: Workerd, id: string, readers: number) =>
  vi.waitUntil(() => linesOf(relay, "\nwatched", id) === readers, PATIENCE);

/** Waits until as many readers have ended to watch a task as have begun. */
const unwatched = (relay: Workerd, id: string) =>
  vi.waitUntil(
    () => linesOf(relay, "\nunwatched", id) === linesOf(relay, "\nwatched", id),
    PATIENCE,
  );

it.each([
  ["by the stream", true, ["/events"]],
  ["by ?wait=60", false, ["/events", "", "?wait=60"]],
])(
  "the client's waitFor, waiting %s, causes no read of an unchanged task, ends when aborted, and leaves no connection to the task's Durable Object",
  async (_, hasStreams, requests) => {
    await using relay = await Workerd.start({ entry: ENTRY, vars: LOCAL_VARS });
    const [id, other] = [await openTask(relay), await openTask(relay)];
    const waiting = reader(relay, id, hasStreams);
    const controller = new AbortController();
    const aborted = reader(relay, other, hasStreams, controller.signal);
    await Promise.all([watchedBy(relay, id, 1), watchedBy(relay, other, 1)]);
    const reads = linesOf(relay, "\nread", id);
    controller.abort(new Error("enough"));
    await expect(aborted.ended).rejects.toThrow("enough");
    // Before its answer begins, workerd does not notice that the client of a request has gone.
    if (hasStreams) await unwatched(relay, other);
    expect(linesOf(relay, "\nread", id)).toBe(reads);
    await complete(relay, id);
    expect(await waiting.ended).toMatchObject({ id, status: "completed" });
    await unwatched(relay, id);
    expect([waiting.asked, waiting.seen]).toEqual([requests, ["pending"]]);
    expect(linesOf(relay, "\nread", id)).toBe(reads + 1);
  },
);

it.each([true, false])(
  "a client that waits for a task while the relay is killed with kill -9 still gets a result that comes right after the restart, or one that comes later (streams: %s)",
  async (hasStreams) => {
    await using relay = await Workerd.start({ entry: ENTRY, vars: LOCAL_VARS });
    const [soon, later] = [await openTask(relay), await openTask(relay)];
    const readers = [soon, later].map((id) => reader(relay, id, hasStreams));
    await Promise.all([watchedBy(relay, soon, 1), watchedBy(relay, later, 1)]);
    await relay.restart();
    await complete(relay, soon);
    await watchedBy(relay, later, 2);
    await complete(relay, later);
    for (const { ended, seen } of readers) {
      expect(await ended).toMatchObject({ status: "completed" });
      expect(seen).toEqual(["pending"]);
    }
  },
);

it.each([
  ["the Durable Objects run the previous release and the Worker the present build", true],
  ["the Worker runs the previous release and the Durable Objects the present build", false],
])(
  "a client that reads a task's stream and one that asks with ?wait=60 get the task's result while %s",
  async (_, areObjectsOlder) => {
    const earlier = await keptBundle();
    const { script } = await bundleOf();
    await using relay = await Workerd.start({
      vars: LOCAL_VARS,
      script: areObjectsOlder ? script : earlier,
      otherScript: areObjectsOlder ? earlier : script,
      homeOf: () => "other",
    });
    const id = await openTask(relay);
    const readers = [true, false].map((hasStreams) => reader(relay, id, hasStreams));
    await vi.waitUntil(() => readers.every(({ seen }) => seen.length > 0), PATIENCE);
    await complete(relay, id);
    for (const { ended } of readers) expect(await ended).toMatchObject({ status: "completed" });
  },
);

it("a client that waits for a task gets the result although the relay is replaced by the previous release and then by the present build", async () => {
  const earlier = await keptBundle();
  const { script } = await bundleOf(ENTRY);
  await using relay = await Workerd.start({ vars: LOCAL_VARS, script });
  const [first, second] = [await openTask(relay), await openTask(relay)];
  const ways = [true, false];
  const readers = [first, second].map((id) => ways.map((way) => reader(relay, id, way)));
  await Promise.all([watchedBy(relay, first, 2), watchedBy(relay, second, 2)]);
  await relay.restart("kept", earlier);
  await complete(relay, first);
  for (const { ended } of readers[0] ?? []) expect(await ended).toMatchObject({ id: first });
  await relay.restart("kept", script);
  await complete(relay, second);
  for (const { ended } of readers[1] ?? []) expect(await ended).toMatchObject({ id: second });
});

it("while 64 clients with a task's stream read nothing from their connections, an event about the task is answered and its callback delivered", async () => {
  await using receiver = await Receiver.start();
  await using relay = await Workerd.start({ entry: ENTRY, vars: LOCAL_VARS });
  const callback_url = receiver.at("/fast", { kind: "answer", status: 200 });
  const id = await openTask(relay, { callback_url });
  const { hostname, port } = new URL(relay.url);
  const sockets = Array.from({ length: 64 }, () => {
    const socket = connect(Number(port), hostname).pause();
    socket.on("error", () => {});
    const lines = [`Host: ${hostname}:${port}`, `Authorization: Bearer ${OPERATOR_KEY}`];
    socket.write([`GET /v1/tasks/${id}/events HTTP/1.1`, ...lines, "", ""].join("\r\n"));
    return socket;
  });
  await watchedBy(relay, id, 64);
  const metadata = { text: "x".repeat(200_000) };
  const { output, ...event } = completedEvent(id, callback_url);
  const large = { ...event, output: { ...output, metadata } };
  expect((await relay.client.ask("POST", "/v1/events", large)).status).toBe(202);
  const { callback } = await relay.client.settled(id);
  expect(callback).toMatchObject({ status: "delivered", attempts: [{ number: 1 }] });
  for (const socket of sockets) socket.destroy();
  await unwatched(relay, id);
});
