import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { publicKeys } from "../../src/outbound/jwks.ts";
import { POLL_TIMEOUT_MS } from "../../src/lib/timeout.ts";
import { pass, realMs, until, useClock } from "./clock.ts";
import { attach, type Hooked, hooked } from "./hooked.ts";
import { stubOf, wake } from "./objects.ts";
import { anOutside, answering, intercept, type Site } from "./outside.ts";
import { aCompletion, CALLBACK_URL, read, report } from "./tasks.ts";
import { never } from "./receiver.ts";
import { holdTimers } from "./timers.ts";
import { PUBLISHED_JWK } from "./senders.ts";

useClock();

const KEYED = {
  ...env,
  REPLICATE_API_TOKEN: "test-only-token",
  FAL_KEY: "test-only-token",
  ARK_API_KEY: "test-only-token",
};
const MIB = 1_048_576;
const CHUNK = new Uint8Array(MIB / 16).fill(0x20);
const DONE = { id: "job-1", status: "succeeded", output: "https://cdn.example.net/1.mp4" };

/** Registers a task with a job at a provider, whose next poll is due. */
async function pollable(provider: string, bindings: object = KEYED): Promise<Hooked> {
  const task = await hooked({ provider, bindings });
  await attach(task, "job-1", provider === "fal" ? "fal-ai/flux" : null);
  return task;
}

/** An answer of 2 MiB whose last byte is held back until `end` is called. */
class HeldAnswer {
  bytesRead = 0;
  readonly #end = Promise.withResolvers<void>();

  readonly site: Site = (_, signal) => {
    const body = new ReadableStream(
      {
        start: (controller) =>
          signal.addEventListener("abort", () => controller.error(signal.reason)),
        pull: async (controller) => {
          if (this.bytesRead < 2 * MIB) {
            this.bytesRead += CHUNK.length;
            return controller.enqueue(CHUNK);
          }
          await this.#end.promise;
          controller.enqueue(new TextEncoder().encode(JSON.stringify(DONE)));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body);
  };

  end(): void {
    this.#end.resolve();
  }

  fail(): void {
    this.#end.reject(new Error("connection lost"));
  }
}

it("a hook waits for the fetch of its provider's public keys for at most 2 seconds", async () => {
  const outside = anOutside();
  const expire = holdTimers(2_000);
  outside.on("https://keys.", (_, signal) => never(signal));
  const keys = publicKeys("https://keys.example.net/slow", false);
  await until(() => outside.sentTo("https://keys.").length === 1);
  expire();
  expect(await keys).toBeNull();
});

it.each(["replicate", "fal", "ark"])(
  "a poll reads up to 2 MiB of a response of %s, because that may contain files",
  async (provider) => {
    const outside = anOutside();
    const answer = new HeldAnswer();
    answer.end();
    outside.on("https://", answer.site);
    await wake((await pollable(provider)).id, 130_000);
    expect(answer.bytesRead).toBe(2 * MIB);
  },
);

/** The first of three polls: its answer, its task, and a function that lets its time limit pass. */
interface FirstPoll {
  readonly answer: HeldAnswer;
  readonly id: string;
  readonly expire: () => unknown;
}

/** Events by which the first of three polls ends and gives its permission back. */
const ENDS: readonly (readonly [string, (first: FirstPoll) => unknown])[] = [
  ["ends", ({ answer }) => answer.end()],
  ["breaks off", ({ answer }) => answer.fail()],
  ["is aborted because an event ended its task", ({ id }) => report(aCompletion(id))],
  ["passes its time limit", ({ expire }) => expire()],
  [
    "has been open for 15 s, as after an eviction of the Durable Object that reads it",
    () => pass(15_000),
  ],
];

it.each(ENDS)(
  "the relay reads at most two provider responses over 1 MiB at the same time; a third waits until the request for one of the two %s",
  async (_, end) => {
    const expire = holdTimers(POLL_TIMEOUT_MS);
    const outside = anOutside();
    outside.on(CALLBACK_URL, answering("thank you"));
    const [first, second, third] = [new HeldAnswer(), new HeldAnswer(), new HeldAnswer()];
    const ids: string[] = [];
    while (ids.length < 3) ids.push((await pollable("replicate")).id);
    const runs: Promise<boolean>[] = [];
    pass(130_000);
    for (const [i, answer] of [first, second, third].entries()) {
      outside.on("https://api.replicate.com", answer.site);
      runs.push(wake(ids[i] ?? ""));
      await until(() => answer.bytesRead === (answer === third ? MIB : 2 * MIB));
    }
    await realMs(100);
    expect(third.bytesRead).toBe(MIB);
    const [id = ""] = ids;
    await end({
      answer: first,
      id,
      // A timer belongs to the object that has set it.
      expire: () => runInDurableObject(stubOf(id), () => expire(1)),
    });
    await until(() => third.bytesRead === 2 * MIB);
    for (const answer of [first, second, third]) answer.end();
    await Promise.all(runs);
    for (const each of ids.slice(1))
      expect(await read(each)).toMatchObject({ status: "completed" });
  },
);

it("a provider's public key set stays in Cloudflare's cache for an hour, and a request for fresh keys bypasses the cache", async () => {
  const url = "https://keys.example.net/large-answers.json";
  const sent = intercept(answering({ keys: [PUBLISHED_JWK] }));
  expect(await publicKeys(url, false)).toHaveLength(1);
  pass(30_000);
  expect(await publicKeys(url, true)).toHaveLength(1);
  const cacheTtlByStatus = { "200-299": 3600, "300-599": -1 };
  expect(sent.map(({ cf }) => cf)).toEqual([
    { cacheEverything: true, cacheTtlByStatus },
    undefined,
  ]);
});
