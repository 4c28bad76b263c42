import { expect, it, vi } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { apiOf, type UpstreamApi } from "./apis.ts";
import { FakeUpstream } from "./fake-upstream.ts";

/** Well before the poll times out after `CALLBACK_TIMEOUT_S`. */
const WITHIN_MS = 15_000;

const receiver = await forThisFile(Receiver.start());
const upstream = await forThisFile(FakeUpstream.start());
const vars = { ...LOCAL_VARS, CALLBACK_TIMEOUT_S: "25", CONNECTIONS: upstream.connections };
const relay = await forThisFile(Workerd.start({ vars }));
const { client } = relay;

interface Case {
  readonly provider: string;
  readonly status: "completed" | "failed";
  readonly end: (task: Submitted) => Promise<{ readonly status: number }>;
}

/** A task whose job is attached. */
interface Submitted {
  readonly id: string;
  readonly jobId: string;
  readonly api: UpstreamApi;
}

async function submitted(api: UpstreamApi, callback_url: string): Promise<Submitted> {
  const provider = `${api.provider}-keyed`;
  const { id, hook_url } = await client.register({ provider, callback_url });
  const jobId = upstream.submit(api, hook_url);
  await client.ask("POST", `/v1/tasks/${id}/upstream`, { provider, id: jobId });
  return { id, jobId, api };
}

const output = { urls: ["https://cdn.example.com/by-event.mp4"] };
const CASES: Readonly<Record<string, Case>> = {
  "a signed hook": {
    provider: "replicate",
    status: "completed",
    end: ({ api, jobId }) => upstream.hook(api, jobId, "completed"),
  },
  "an event": {
    provider: "ark",
    status: "completed",
    end: ({ id }) => client.ask("POST", "/v1/events", { id, status: "completed", output }),
  },
  "a cancellation": {
    provider: "ark",
    status: "failed",
    end: ({ id }) => client.ask("POST", `/v1/tasks/${id}/cancel`),
  },
};

it.concurrent.each(Object.entries(CASES))(
  "a poll that hangs does not delay the callback that follows %s",
  async (_, { provider, status, end }) => {
    const path = `/${crypto.randomUUID()}`;
    const called = Promise.withResolvers<void>();
    const callbackUrl = receiver.at(path, { kind: "answer", status: 200 });
    const api = apiOf(provider);
    const task = await submitted(api, callbackUrl);
    upstream.set(task.jobId, "processing");
    upstream.holds.set(task.jobId, called.promise);
    // A success without output makes the relay poll at once, even when it is signed.
    await upstream.hook(api, task.jobId, "empty");
    await vi.waitUntil(() => upstream.held.has(task.jobId), WITHIN_MS);

    expect((await end(task)).status).toBeLessThan(300);
    await vi.waitUntil(() => receiver.postsAt(path).length > 0, WITHIN_MS);
    expect(upstream.held.has(task.jobId)).toBe(true);
    called.resolve();
    await vi.waitUntil(() => !upstream.held.has(task.jobId), WITHIN_MS);
    expect((await client.settled(task.id)).status).toBe(status);
    expect(receiver.postsAt(path)).toHaveLength(1);
  },
);

it("a poll of a task that has ended is logged as aborted", () => {
  const polls = relay.output.split("\n").filter((line) => line.includes("upstream.poll"));
  const outcomes = polls.map((line) => /"outcome":"(\w+)"/.exec(line)?.[1]);
  expect(outcomes).toEqual(["aborted", "aborted", "aborted"]);
  expect(relay.output).not.toMatch(/loop\.failed|alarm\.failed|internal error/);
});
