import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFal } from "@ai-sdk/fal";
import { createReplicate } from "@ai-sdk/replicate";
import { experimental_generateVideo as generateVideo } from "ai";
import { expect, it, vi } from "vitest";
import {
  type VideoWaitOptions,
  webhooksFor,
  type WebhookFactory,
} from "../../../client/src/ai-sdk.ts";
import { type RegisteredTask, TaskRelay } from "../../../client/src/index.ts";
import { devDependencies } from "../../../package.json" with { type: "json" };
import { ROOT } from "../harness/child.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { VIDEO_KEY, videoText, VideoUpstream, WORDS } from "./video-upstream.ts";

const upstream = await forThisFile(VideoUpstream.start());
const receiver = await forThisFile(Receiver.start());
const vars = { ...LOCAL_VARS, ...upstream.vars, SANDBOX: "true" };
const relay = await forThisFile(Workerd.start({ vars }));
const client = new TaskRelay({ url: relay.url, key: OPERATOR_KEY, retryForMs: 0 });

type Options = Parameters<typeof generateVideo>[0];

/** A video model of the SDK, for a connection of the relay. */
interface Sdk {
  readonly connection: string;
  readonly modelWith: (send: typeof fetch) => unknown;
}

const FAL: Sdk = {
  connection: "fal-videos",
  modelWith: (send) =>
    createFal({ apiKey: VIDEO_KEY, fetch: send }).video("luma-dream-machine/ray-2"),
};
const REPLICATE: Sdk = {
  connection: "replicate",
  modelWith: (send) => createReplicate({ apiToken: VIDEO_KEY, fetch: send }).video("acme/fox"),
};
const SDKS = [FAL, REPLICATE];

interface Given extends VideoWaitOptions {
  readonly n?: number;
  readonly maxRetries?: number;
  readonly callback_url?: string;
  readonly through?: TaskRelay;
}

/**
 * Tells whether a value is a model of this version of the SDK. The types of the latest packages do not fit each other: those
 * of `@ai-sdk/fal` are of an older release, whose JSON is not read-only.
 */
function isModel(value: unknown): value is Options["model"] {
  const version = typeof value === "object" && value !== null && "specificationVersion" in value;
  return version && value.specificationVersion === "v4";
}

let nth = 0;

/** Generates a video of which the prompt is new. @returns the prompt, the tasks, and the promise of the SDK. */
function generate({ connection, modelWith }: Sdk, words: string, given: Given = {}) {
  const { n = 1, maxRetries = 2, callback_url, through = client, ...options } = given;
  nth += 1;
  const prompt = `a fox that is ${words}, no. ${nth}`;
  const tasks: RegisteredTask[] = [];
  const onTask = (task: RegisteredTask) => tasks.push(task);
  const { webhook, fetch: send } = webhooksFor(through, connection, { fetch: upstream.fetch });
  const task = { model: "fox", ...(callback_url !== undefined && { callback_url }) };
  const { signal } = options;
  const model = modelWith(send);
  if (!isModel(model)) throw new Error("not a model of this version of the SDK");
  const result = generateVideo({
    model,
    prompt,
    n,
    maxRetries,
    download: upstream.download,
    webhook: webhook(task, { ...options, onTask }),
    ...(signal !== undefined && { abortSignal: signal }),
  });
  return { prompt, tasks, result };
}

/** Returns the task of a generation with a single one, as the relay shows it now. */
async function taskOf({ tasks }: ReturnType<typeof generate>) {
  return client.read(tasks[0]?.id ?? "");
}

it.concurrent.each(SDKS)(
  "a video generation of the AI SDK through $connection registers a task, sends the task's hook URL upstream, and gets the video once the task is completed",
  async (sdk) => {
    const callback_url = receiver.at(`/${sdk.connection}`, { kind: "answer", status: 200 });
    const generation = generate(sdk, "hooked", { callback_url });
    const { video, warnings } = await generation.result;
    expect(new TextDecoder().decode(video.uint8Array)).toBe(videoText(generation.prompt));
    expect(warnings).toEqual([]);
    expect(upstream.started(generation.prompt)).toBe(1);
    expect(await taskOf(generation)).toMatchObject({
      status: "completed",
      model: "fox",
      upstream: { id: expect.stringMatching(/^job-\d+$/) },
      output: { urls: [expect.stringMatching(/^https:\/\/cdn\.example\.com\/job-\d+\.mp4$/)] },
    });
    await vi.waitUntil(() => receiver.postsAt(`/${sdk.connection}`).length > 0, 10_000);
  },
);

it.concurrent.each(SDKS)(
  "a video generation of the AI SDK through $connection gets the video by the relay's polls when the upstream's hook does not come",
  async (sdk) => {
    const generation = generate(sdk, WORDS.unhooked);
    const { video } = await generation.result;
    expect(new TextDecoder().decode(video.uint8Array)).toBe(videoText(generation.prompt));
  },
);

it.concurrent("when one call of the AI SDK generates several videos, a task is registered for each, and each video waits for its own task", async () => {
  const generation = generate(REPLICATE, "hooked", { n: 3 });
  const { videos } = await generation.result;
  expect(videos).toHaveLength(3);
  expect(new Set(generation.tasks.map(({ id }) => id)).size).toBe(3);
  const ended = await Promise.all(generation.tasks.map(({ id }) => client.read(id)));
  expect(ended.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
});

it.concurrent.each(SDKS)(
  "when a job at $connection fails, the AI SDK's generation rejects with the failed task",
  async (sdk) => {
    const generation = generate(sdk, WORDS.failing);
    await expect(generation.result).rejects.toMatchObject({
      name: "TaskFailedError",
      message: expect.stringMatching(/^The task [\w-]+ has failed with .+: .+/),
      task: { status: "failed", error: { message: expect.any(String) } },
    });
    expect(await taskOf(generation)).toMatchObject({ status: "failed" });
  },
);

it.concurrent.each(SDKS)(
  "when $connection refuses a job, the AI SDK's generation rejects with the SDK's own error, and the task has failed with submit_refused",
  async (sdk) => {
    const generation = generate(sdk, WORDS.refused);
    await expect(generation.result).rejects.toMatchObject({ statusCode: 422 });
    const task = await client.waitFor(generation.tasks[0]?.id ?? "", { timeoutMs: 10_000 });
    expect(task).toMatchObject({ status: "failed", error: { code: "submit_refused" } });
  },
);

it.concurrent.each(SDKS)(
  "when $connection refuses a call in a way that lets the AI SDK repeat it, the task stays open, and the repeated call starts its job",
  async (sdk) => {
    const generation = generate(sdk, WORDS.busy);
    const { video } = await generation.result;
    expect(new TextDecoder().decode(video.uint8Array)).toBe(videoText(generation.prompt));
    expect(generation.tasks).toHaveLength(1);
  },
);

it.concurrent("when the timeoutMs of the AI SDK's video generation is over, the generation rejects with the open task, and the task stays open", async () => {
  const generation = generate(FAL, WORDS.endless, { timeoutMs: 2000 });
  await expect(generation.result).rejects.toMatchObject({
    name: "WaitTimeoutError",
    message: "The task has not ended within 2000 ms.",
    task: { id: expect.any(String) },
  });
  expect(await taskOf(generation)).toMatchObject({ status: expect.stringMatching(/^p/) });
});

it.concurrent("when the signal of the AI SDK's video generation is aborted, the generation rejects and stops waiting for the webhook", async () => {
  const aborting = new AbortController();
  const { signal } = aborting;
  const { webhook } = webhooksFor(client, "fal-videos");
  const { received } = await webhook({ model: "fox" }, { signal })();
  const generation = generate(FAL, WORDS.endless, { signal });
  await vi.waitUntil(() => upstream.started(generation.prompt) > 0, 10_000);
  aborting.abort(new Error("The user has left."));
  await expect(generation.result).rejects.toThrow(/left|abort/i);
  await expect(received).rejects.toThrow("The user has left.");
});

it.concurrent("when the relay refuses the task, gives no hook URL for the connection or cannot be reached, a video generation of the AI SDK rejects and starts no job", async () => {
  const refused = generate({ ...FAL, connection: "nowhere" }, "unregistered");
  await expect(refused.result).rejects.toMatchObject({
    name: "RelayProblem",
    code: "invalid_request",
    message: expect.stringContaining("/provider"),
  });
  const hookless = generate({ ...FAL, connection: "sandbox" }, "hookless");
  await expect(hookless.result).rejects.toThrow(/sandbox/);
  const url = new URL(await closedPort()).origin;
  const through = new TaskRelay({ url, key: OPERATOR_KEY, retryForMs: 0 });
  const unreached = generate(FAL, "unreached", { through });
  await expect(unreached.result).rejects.toMatchObject({
    message: "The relay gave no answer to the registration of a task.",
    cause: expect.any(TypeError),
  });
  for (const { prompt } of [refused, hookless, unreached]) expect(upstream.started(prompt)).toBe(0);
});

it("the function that the client offers as the AI SDK's option webhook has the TypeScript type that the SDK demands", () => {
  const factory: WebhookFactory = webhooksFor(client, "fal").webhook({ model: "m" });
  const taken: NonNullable<Options["webhook"]> = factory;
  expect(taken).toBe(factory);
});

it("the client's README states those versions of the AI SDK with which the tests run the README's code", () => {
  const page = readFileSync(join(ROOT, "client/README.md"), "utf8");
  const [, stated = ""] = /^Run with (.+?)\. The package/m.exec(page) ?? [];
  const versions = [...stated.matchAll(/`([\w@/-]+)` ([\d.]+\d)/g)].map(([, ...pair]) => pair);
  expect(versions.map(([name]) => name)).toEqual(["ai", "@ai-sdk/fal", "@ai-sdk/replicate"]);
  expect(devDependencies).toMatchObject(Object.fromEntries(versions));
});
