import { describe, expect, it } from "vitest";
import { WaitTimeoutError } from "../../client/src/index.ts";
import {
  answer,
  connect,
  ENDED,
  ID,
  OPEN,
  outcomeOf,
  refusal,
  type Scripted,
  UNAVAILABLE,
  useFakeTime,
} from "./scripted-relay.ts";

useFakeTime();

const unchanged = new Response(null, { status: 304 });
const etag = (version: string) => ({ ETag: version });

describe("waitFor", () => {
  it("waitFor of the client reads the task at once, then waits for each change of it until it has ended", async () => {
    const { relay, http } = connect(
      answer(200, OPEN, etag('"1"')),
      unchanged,
      answer(200, { ...OPEN, progress: 80 }, etag('"2"')),
      answer(200, ENDED, etag('"3"')),
    );
    const progress: unknown[] = [];
    const onChange = (task: { progress?: number }) => progress.push(task.progress);
    await expect(outcomeOf(relay.waitFor(ID, { onChange }))).resolves.toEqual(ENDED);
    expect(progress).toEqual([40, 80]);
    const sent = http.requests.map(({ url, headers }) => [
      new URL(url).search,
      headers.get("If-None-Match"),
    ]);
    expect(sent).toEqual([
      ["", null],
      ["?wait=60", '"1"'],
      ["?wait=60", '"1"'],
      ["?wait=60", '"2"'],
    ]);
  });

  it("waitFor of the client pauses 5 s when the relay answers at once that the task has not changed", async () => {
    const { relay, http } = connect(answer(200, OPEN), answer(200, OPEN), answer(200, ENDED));
    await outcomeOf(relay.waitFor(ID));
    expect(http.sentAtMs).toEqual([0, 5000, 10_000]);
  });

  it("waitFor of the client goes on through five minutes of lost connections, 429 and 503, and rejects when they last longer", async () => {
    const limited = refusal(429, "rate_limited", { "Retry-After": "60" });
    const failures: Scripted[] = [limited, "lost", UNAVAILABLE, limited, limited, "silent"];
    const { relay } = connect(...failures, answer(200, ENDED));
    await expect(outcomeOf(relay.waitFor(ID))).resolves.toEqual(ENDED);
    const dead = connect(UNAVAILABLE);
    expect(await outcomeOf(dead.relay.waitFor(ID))).toMatchObject({ code: "unavailable" });
    expect(dead.http.sentAtMs.at(-1)).toBeGreaterThan(290_000);
  });

  it("waitFor of the client rejects after timeoutMs with the task as it was last read, also during a request", async () => {
    const { relay } = connect(answer(200, OPEN, etag('"1"')), "silent");
    const error = await outcomeOf(relay.waitFor(ID, { timeoutMs: 10_000 }));
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error).toMatchObject({ task: OPEN });
    expect(Date.now()).toBe(10_000);
  });

  it("waitFor of the client rejects with the reason of its signal when that is aborted", async () => {
    const { relay } = connect(answer(200, OPEN, etag('"1"')), "silent");
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 3000);
    const error = await outcomeOf(relay.waitFor(ID, { signal: controller.signal }));
    expect(error).toMatchObject({ message: "enough" });
  });

  it("waitFor of the client rejects at once when the task is unknown", async () => {
    const { relay, http } = connect(refusal(404, "unknown_task"));
    expect(await outcomeOf(relay.waitFor(ID))).toMatchObject({ code: "unknown_task" });
    expect(http.requests).toHaveLength(1);
  });
});
