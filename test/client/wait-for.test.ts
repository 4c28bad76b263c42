import { describe, expect, it } from "vitest";
import { WaitTimeoutError } from "../../client/src/index.ts";
import {
  answer,
  connect,
  ENDED,
  event,
  ID,
  OPEN,
  outcomeOf,
  refusal,
  type Scripted,
  ScriptedStream,
  UNAVAILABLE,
  useFakeTime,
} from "./scripted-relay.ts";

useFakeTime();

const BEGIN = "retry: 2000\n\n";
const NO_STREAM = refusal(404, "not_found");
const unchanged = new Response(null, { status: 304 });
const etag = (version: string) => ({ ETag: version });

/** Returns the paths and queries of requests, below that of the task. */
const pathsOf = (requests: readonly Request[]) =>
  requests.map(({ url }) => url.slice(`https://r.test/v1/tasks/${ID}`.length));

/** Returns a function that collects the progress of the tasks that it gets, and what it has collected. */
function progressNotes() {
  const notes: unknown[] = [];
  return { notes, onChange: (task: { progress?: number }) => notes.push(task.progress) };
}

describe("waitFor by the stream", () => {
  it("waitFor of the client reads the task's stream, reports each change once, and closes the stream when the task has ended", async () => {
    const stream = new ScriptedStream(
      "stays open",
      BEGIN,
      event("1.40", OPEN),
      ":\n\n",
      event("2.40", OPEN),
      event("2.80", { ...OPEN, progress: 80 }).slice(0, 40),
      event("2.80", { ...OPEN, progress: 80 }).slice(40),
      event("3", ENDED) + event("4", { ...ENDED, callback: null }),
    );
    const { relay, http } = connect(stream);
    const { notes, onChange } = progressNotes();
    await expect(outcomeOf(relay.waitFor(ID, { onChange }))).resolves.toEqual(ENDED);
    expect(notes).toEqual([40, 80]);
    expect(pathsOf(http.requests)).toEqual(["/events"]);
    const [headers] = http.requests.map((request) => request.headers);
    expect(headers?.get("Authorization")).toBe("Bearer planted-token");
    expect(headers?.has("Last-Event-ID")).toBe(false);
    expect(stream.closedAtMs).toBe(0);
    expect(http.requests[0]?.signal.aborted).toBe(true);
  });

  it.each(["ends", "is lost"] as const)(
    "when the stream of events that waitFor reads %s, the client reads the task, opens the stream anew with Last-Event-ID, and reports no state twice",
    async (end) => {
      const { relay, http } = connect(
        new ScriptedStream(end, BEGIN, event("1.40", OPEN), 6000),
        answer(200, OPEN, etag('"1.40-key"')),
        new ScriptedStream(end, BEGIN, 1000, event("3", ENDED)),
      );
      const { notes, onChange } = progressNotes();
      await expect(outcomeOf(relay.waitFor(ID, { onChange }))).resolves.toEqual(ENDED);
      expect(pathsOf(http.requests)).toEqual(["/events", "", "/events"]);
      expect(http.requests[2]?.headers.get("Last-Event-ID")).toBe("1.40");
      expect(notes).toEqual([40]);
      expect(Date.now()).toBe(7000);
    },
  );

  it.each([
    ["is lost", "lost"],
    ["is answered with 503", UNAVAILABLE],
    ["is answered with 429", refusal(429, "rate_limited")],
    ["ends without an event", new ScriptedStream("ends", BEGIN)],
  ] as const)(
    "when the stream of events that waitFor reads %s, the client waits for one change of the task by ?wait=60 before it tries the stream again",
    async (_, failed: Scripted) => {
      const { relay, http } = connect(
        failed,
        answer(200, OPEN, etag('"1"')),
        answer(200, { ...OPEN, progress: 80 }, etag('"2"')),
        failed,
        answer(200, ENDED, etag('"3"')),
      );
      const { notes, onChange } = progressNotes();
      await expect(outcomeOf(relay.waitFor(ID, { onChange }))).resolves.toEqual(ENDED);
      expect(pathsOf(http.requests)).toEqual(["/events", "", "?wait=60", "/events", ""]);
      expect(notes).toEqual([40, 80]);
    },
  );

  it.each([
    ["the relay has no route for the stream", NO_STREAM, 0],
    [
      "a proxy answers the request for the stream with a page",
      new Response("<html>", { status: 200 }),
      0,
    ],
    ["a proxy holds the whole answer back", "silent", 10_000],
    ["a proxy holds the body back", new ScriptedStream("stays open"), 10_000],
    [
      "the stream has bytes but no line of an event",
      new ScriptedStream("stays open", "rubbish"),
      10_000,
    ],
    ["its event is no JSON", new ScriptedStream("stays open", "event: task\ndata: {\n\n"), 0],
    ["its event is no task", new ScriptedStream("stays open", "event: task\ndata: 1\n\n"), 0],
    ["the stream falls silent for 35 s", new ScriptedStream("stays open", BEGIN), 35_000],
  ] as const)(
    "waitFor of the client reads the task with ?wait=60 until it has ended, and closes the stream, when %s",
    async (_, failed: Scripted, lateMs: number) => {
      const { relay, http } = connect(
        failed,
        answer(200, OPEN, etag('"1"')),
        unchanged,
        answer(200, ENDED, etag('"2"')),
      );
      await expect(outcomeOf(relay.waitFor(ID))).resolves.toEqual(ENDED);
      expect(pathsOf(http.requests)).toEqual(["/events", "", "?wait=60", "?wait=60"]);
      expect(http.sentAtMs[1]).toBe(lateMs);
      if (failed instanceof ScriptedStream) expect(failed.closedAtMs).toBe(lateMs);
      expect(http.requests[0]?.signal.aborted).toBe(true);
    },
  );

  it.each([
    ["its signal is aborted", "enough"],
    ["timeoutMs is over", "The task has not ended within 3000 ms."],
  ])(
    "waitFor of the client rejects and closes the stream when %s while the stream is open",
    async (when, message) => {
      const stream = new ScriptedStream("stays open", BEGIN, event("1", OPEN));
      const { relay, http } = connect(stream);
      const controller = new AbortController();
      const isSignal = when.includes("signal");
      if (isSignal) setTimeout(() => controller.abort(new Error("enough")), 3000);
      const options = isSignal ? { signal: controller.signal } : { timeoutMs: 3000 };
      expect(await outcomeOf(relay.waitFor(ID, options))).toMatchObject({ message });
      expect([http.requests.length, stream.closedAtMs]).toEqual([1, 3000]);
    },
  );

  it("waitFor of the client rejects with the error that the caller's onChange has thrown", async () => {
    const { relay, http } = connect(new ScriptedStream("stays open", BEGIN, event("1", OPEN)));
    const waiting = relay.waitFor(ID, {
      onChange: () => {
        throw new Error("mine");
      },
    });
    expect(await outcomeOf(waiting)).toMatchObject({ message: "mine" });
    expect(http.requests).toHaveLength(1);
  });
});

describe("waitFor without a stream", () => {
  it("when the relay offers no stream of events, waitFor of the client reads the task at once, then waits for each change by ?wait=60 until the task has ended", async () => {
    const { relay, http } = connect(
      NO_STREAM,
      answer(200, OPEN, etag('"1"')),
      unchanged,
      answer(200, { ...OPEN, progress: 80 }, etag('"2"')),
      answer(200, ENDED, etag('"3"')),
    );
    const { notes, onChange } = progressNotes();
    await expect(outcomeOf(relay.waitFor(ID, { onChange }))).resolves.toEqual(ENDED);
    expect(notes).toEqual([40, 80]);
    const sent = http.requests.map(({ headers }) => headers.get("If-None-Match"));
    expect(pathsOf(http.requests)).toEqual(["/events", "", "?wait=60", "?wait=60", "?wait=60"]);
    expect(sent).toEqual([null, null, '"1"', '"1"', '"2"']);
  });

  it("when the relay answers ?wait=60 at once with an unchanged task, waitFor of the client pauses for 5 s before its next request", async () => {
    const { relay, http } = connect(
      NO_STREAM,
      answer(200, OPEN),
      answer(200, OPEN),
      answer(200, ENDED),
    );
    await outcomeOf(relay.waitFor(ID));
    expect(http.sentAtMs).toEqual([0, 0, 5000, 10_000]);
  });

  it("waitFor of the client goes on trying through five minutes of lost connections, 429 and 503, and rejects when these last longer", async () => {
    const limited = refusal(429, "rate_limited", { "Retry-After": "60" });
    const failures: Scripted[] = [limited, "lost", UNAVAILABLE, limited, limited, "silent"];
    const { relay } = connect(limited, ...failures, answer(200, ENDED));
    await expect(outcomeOf(relay.waitFor(ID))).resolves.toEqual(ENDED);
    const dead = connect(UNAVAILABLE);
    expect(await outcomeOf(dead.relay.waitFor(ID))).toMatchObject({ code: "unavailable" });
    expect(dead.http.sentAtMs.at(-1)).toBeGreaterThan(290_000);
  });

  it("waitFor of the client rejects when timeoutMs is over, even during a request; its error has the task as it was last read", async () => {
    const { relay } = connect(NO_STREAM, answer(200, OPEN, etag('"1"')), "silent");
    const error = await outcomeOf(relay.waitFor(ID, { timeoutMs: 10_000 }));
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error).toMatchObject({ task: OPEN });
    expect(Date.now()).toBe(10_000);
  });

  it("waitFor of the client rejects with the reason of its signal when the caller aborts this signal during a read", async () => {
    const { relay } = connect(NO_STREAM, answer(200, OPEN, etag('"1"')), "silent");
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 3000);
    const error = await outcomeOf(relay.waitFor(ID, { signal: controller.signal }));
    expect(error).toMatchObject({ message: "enough" });
  });

  it.each([
    [404, "unknown_task"],
    [401, "unauthenticated"],
  ])("waitFor of the client rejects at once when the relay answers %i %s", async (status, code) => {
    const { relay, http } = connect(refusal(status, code));
    expect(await outcomeOf(relay.waitFor(ID))).toMatchObject({ code });
    expect(pathsOf(http.requests)).toEqual(["/events", ""]);
  });
});
