import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client, SECRETS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { attach, submitted } from "./submission.ts";
import { until, Upstream } from "./fake-upstream.ts";
import type { UpstreamApi } from "./api.ts";
import { APIS } from "./apis.ts";
import { Workerd } from "../harness/workerd.ts";

/** The relay waits for a poll as long as it may wait for anything. */
const POLL_TIMEOUT_S = 25;
/** Long before that: whoever waits for the poll is too late. */
const GIVEN_UP_MS = 15_000;

let relay: Workerd;
let receiver: Receiver;
let upstream: Upstream;
let client: Client;

beforeAll(async () => {
  receiver = await Receiver.start();
  upstream = await Upstream.start();
  relay = await Workerd.start({
    vars: {
      ...SECRETS,
      ALLOW_LOCAL_CALLBACKS: "true",
      CALLBACK_TIMEOUT_S: String(POLL_TIMEOUT_S),
      CONNECTIONS: upstream.connections,
    },
  });
  client = new Client(relay);
});

afterAll(async () => {
  await relay?.stop();
  await receiver?.stop();
  await upstream?.stop();
});

/** A task whose upstream is being asked, and answers only when its callback has arrived. */
async function asked(provider: string) {
  const api = APIS.find((each): each is UpstreamApi => each.provider === provider);
  if (api === undefined) throw new Error(`there is no ${provider}`);
  const path = `/${crypto.randomUUID()}`;
  const arrived = Promise.withResolvers<void>();
  const hasArrived = () => receiver.postsAt(path).length > 0;
  const callbackUrl = receiver.at(path, { kind: "answer", status: 200 });
  const task = await submitted({ client, upstream, api, isKeyed: true, callbackUrl });
  await attach(client, task);
  upstream.set(task.jobId, "processing");
  upstream.trouble.set(task.jobId, { kind: "hold", until: arrived.promise });
  // Success without output is asked after, whoever says so.
  await upstream.hook(api, task.jobId, "empty");
  await until(() => upstream.held.has(task.jobId), GIVEN_UP_MS);
  return {
    task,
    api,
    /** What had happened upstream when the callback came. */
    callback: async () => {
      await until(hasArrived, GIVEN_UP_MS);
      const wasHeld = upstream.held.has(task.jobId);
      arrived.resolve();
      await until(() => !upstream.held.has(task.jobId), GIVEN_UP_MS);
      const settled = await client.settled(task.id);
      return { wasHeld, status: settled.status, posts: receiver.postsAt(path).length };
    },
  };
}

const BEFORE_THE_POLL = { wasHeld: true, status: "completed", posts: 1 };

describe.concurrent("while a poll hangs", () => {
  it("the callback of a signed hook does not wait for it", async () => {
    const { task, api, callback } = await asked("replicate");
    const taken = { status: 200, text: "ok" };
    expect(await upstream.hook(api, task.jobId, "completed")).toEqual(taken);
    expect(await callback()).toEqual(BEFORE_THE_POLL);
  });

  it("the callback of an event does not wait for it", async () => {
    const { task, callback } = await asked("ark");
    const output = { urls: ["https://cdn.example.com/by-event.mp4"] };
    const event = { id: task.id, status: "completed", output };
    expect((await client.ask("POST", "/v1/events", event)).status).toBe(202);
    expect(await callback()).toEqual(BEFORE_THE_POLL);
  });

  it("the callback of a cancellation does not wait for it", async () => {
    const { task, callback } = await asked("kling");
    expect((await client.ask("POST", `/v1/tasks/${task.id}/cancel`)).status).toBe(200);
    expect(await callback()).toEqual({ ...BEFORE_THE_POLL, status: "failed" });
  });
});

describe("a poll that was given up", () => {
  it("is told in the log, and its answer has changed nothing", () => {
    const polls = relay.output.split("\n").filter((line) => line.includes("upstream.poll"));
    expect(polls.map((line) => /"outcome":"(\w+)"/.exec(line)?.[1])).toEqual([
      "aborted",
      "aborted",
      "aborted",
    ]);
    expect(relay.output).not.toMatch(/loop\.failed|alarm\.failed|internal error/);
  });
});
