import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { Client, SECRETS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { attach, type Submitted, submitted } from "./submission.ts";
import { until, Upstream } from "./fake-upstream.ts";
import { type JobState, PARAMETERS, REASON, type UpstreamApi } from "./api.ts";
import { APIS } from "./apis.ts";
import { Workerd } from "../harness/workerd.ts";

const UP = { kind: "answer", status: 200 } as const;
/** The first poll comes 15 s after the attachment, or up to a fifth later. */
const POLLED_WITHIN_MS = 30_000;
const OK = { status: 200, text: "ok" };

let relay: Workerd;
let receiver: Receiver;
let upstream: Upstream;
let client: Client;

beforeAll(async () => {
  receiver = await Receiver.start();
  upstream = await Upstream.start();
  relay = await Workerd.start({
    vars: { ...SECRETS, ALLOW_LOCAL_CALLBACKS: "true", CONNECTIONS: upstream.connections },
  });
  client = new Client(relay);
});

afterAll(async () => {
  await relay?.stop();
  await receiver?.stop();
  await upstream?.stop();
});

const CallbackBody = z.looseObject({ id: z.string(), status: z.string() });

/** A task on the relay and its job upstream. */
async function started(api: UpstreamApi, isKeyed: boolean, fields: object = {}) {
  const path = `/${crypto.randomUUID()}`;
  const callbackUrl = receiver.at(path, UP);
  const task = await submitted({ client, upstream, api, isKeyed, callbackUrl, fields });
  const posts = () => receiver.postsAt(path);
  return {
    task,
    attach: () => attach(client, task),
    hook: (state: JobState, headers?: Record<string, string>) =>
      upstream.hook(api, task.jobId, state, headers),
    set: (state: JobState) => upstream.set(task.jobId, state),
    polls: () => upstream.polls.filter(({ jobId }) => jobId === task.jobId),
    posts,
    /** The one callback, and its body. */
    callback: async (withinMs = 10_000) => {
      await until(() => posts().length > 0, withinMs);
      const verify = await client.verifier();
      const [post] = posts();
      if (post === undefined) throw new Error("nothing arrived");
      return CallbackBody.parse(verify(post));
    },
    read: async () => (await client.ask("GET", `/v1/tasks/${task.id}`)).json,
  };
}

/** What the callback of a success must say, whichever way the relay learnt of it. */
function successOf({ id, jobId, api }: Submitted) {
  const { aspect_ratio: ratio, ...rest } = PARAMETERS;
  const { url, seed } = upstream.job(jobId);
  const told = {
    ark: { seed, framespersecond: 24, generate_audio: true },
    replicate: { seed },
    fal: { seed },
  };
  const metadata = {
    ratio,
    ...rest,
    ...Object.entries(told).find(([name]) => name === api.provider)?.[1],
  };
  return {
    id,
    status: "completed",
    model: "m",
    created_at: expect.any(Number),
    completed_at: expect.any(Number),
    output: { urls: [url], metadata },
  };
}

describe.concurrent.each(APIS)("$provider", (api) => {
  const isSigned = api.provider === "replicate" || api.provider === "fal";

  it.each([true, false])("calls back after its hook; with a key: %s", async (isKeyed) => {
    const scene = await started(api, isKeyed);
    await scene.attach();
    scene.set("processing");
    const begun = await scene.hook("processing");
    if (begun !== null) expect(begun).toEqual(OK);
    scene.set("completed");
    expect(await scene.hook("completed")).toEqual(OK);
    expect(await scene.callback()).toEqual(successOf(scene.task));
    expect(await scene.hook("failed")).toEqual(OK);
    expect(await scene.read()).toMatchObject({ status: "completed" });
    expect(scene.posts()).toHaveLength(1);
    if (!isKeyed) expect(scene.polls()).toEqual([]);
  });

  it("calls back without any hook: it is polled", async () => {
    const [done, failed] = [await started(api, true), await started(api, true)];
    for (const scene of [done, failed]) await scene.attach();
    done.set("completed");
    failed.set("failed");
    expect(await done.callback(POLLED_WITHIN_MS)).toEqual(successOf(done.task));
    // Vidu tells a code alone.
    const message = api.provider === "vidu" ? '"GenerateFailed"' : REASON;
    const error = { code: "upstream_error", message };
    expect(await failed.callback(POLLED_WITHIN_MS)).toMatchObject({ status: "failed", error });
    expect(await failed.read()).toMatchObject({ failure: { category: "provider" } });
  });

  it("is not moved by a forged hook", async () => {
    const scene = await started(api, true);
    await scene.attach();
    scene.set("processing");
    const isChecked = isSigned || api.provider === "vidu";
    const forged = await scene.hook("failed", {});
    expect(forged?.status).toBe(isChecked ? 401 : 200);
    // Where nothing is signed the upstream is asked, and it does not confirm.
    if (!isChecked) await until(() => scene.polls().length > 0, 60_000);
    await sleep(300);
    expect(await scene.read()).toMatchObject({ callback: { status: "waiting", attempts: [] } });
    expect(scene.polls().length > 0).toBe(!isChecked);
    scene.set("completed");
    await scene.hook("completed");
    expect(await scene.callback()).toEqual(successOf(scene.task));
  });

  it.each([true, false])("comes too late after the deadline; with a key: %s", async (isKeyed) => {
    const deadline_at = Math.floor(Date.now() / 1000) + 4;
    const scene = await started(api, isKeyed, { deadline_at });
    await scene.attach();
    scene.set("processing");
    const body = await scene.callback(20_000);
    expect(body).toMatchObject({ status: "failed", error: { code: "upstream_timeout" } });
    await client.settled(scene.task.id);
    const before = await scene.read();
    const polls = scene.polls().length;
    expect(polls > 0).toBe(isKeyed);

    scene.set("completed");
    expect(await scene.hook("completed")).toEqual(OK);
    expect(await scene.read()).toEqual(before);
    expect(scene.polls()).toHaveLength(polls);
    expect(scene.posts()).toHaveLength(1);
    const lines = relay.output.split("\n").filter((line) => line.includes(scene.task.id));
    expect(lines.filter((line) => line.includes("late_result"))).toHaveLength(1);
  });

  it("is not followed elsewhere: a redirect of a poll meets nobody", async () => {
    await using elsewhere = await Receiver.start();
    const scene = await started(api, true);
    await scene.attach();
    scene.set("processing");
    upstream.trouble.set(scene.task.jobId, {
      kind: "redirect",
      location: elsewhere.at("/key", UP),
    });
    // Success without output is asked after at once, whoever signed it.
    expect(await scene.hook("empty")).toEqual(OK);
    await until(() => scene.polls().length > 0, 60_000);
    await sleep(300);
    expect(scene.polls().map(({ status }) => status)).toContain(302);
    expect(elsewhere.posts).toEqual([]);
    expect(await scene.read()).toMatchObject({ callback: { status: "waiting" } });

    upstream.trouble.delete(scene.task.jobId);
    scene.set("completed");
    await scene.hook("completed");
    expect(await scene.callback()).toEqual(successOf(scene.task));
  });
});

describe("all of it", () => {
  it("was asked with the right credentials, and is told in the log without them", () => {
    expect(upstream.polls.filter(({ status }) => status === 401 || status === 404)).toEqual([]);
    expect(relay.output).not.toMatch(
      /process-test-\w+-(key|token|secret)|internal error|loop.failed/,
    );
    for (const { hookUrl } of upstream.jobs.values()) {
      expect(relay.output).not.toContain(hookUrl.split("/").at(-1) ?? "no token");
    }
  });
});
