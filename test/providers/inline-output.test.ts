import { expect, it } from "vitest";
import { hookEvent } from "../../src/api/hooks/hook-event.ts";
import type { NewsConfig } from "../../src/config/news-rules.ts";
import { askProvider, pollAnswer } from "../../src/outbound/ask-upstream.ts";
import { type ContentAnswer, withContent } from "../../src/outbound/content-proof.ts";
import { inlinePointer, withOutputOf } from "../../src/providers/inline-output.ts";
import type { Observation } from "../../src/providers/observation.ts";
import type { Connection, UpstreamProvider } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { declared } from "./adapters.ts";
import { DECLARATIONS } from "./declarations.ts";
import { aHook } from "./hook.ts";

const BASE = "https://upstream.example.com";
const PNG = "iVBORw0KGgo=";
const DATA_URL = `data:image/png;base64,${PNG}`;
const RULES = { isGeneric: false, secrets: [], areKeyedLinksServed: true };
const KEPT = { ...RULES, areInlineOutputsKept: true };
const CONFIG: NewsConfig = {
  allowLocalCallbacks: false,
  allowIpCallbacks: false,
  publicUrl: "https://relay.example.com",
  outputsOrigin: "https://relay.example.com",
  isListenOn: false,
  isErrorTextGeneric: false,
  areOutputsKept: true,
};

function named(name: string): UpstreamProvider {
  const provider = PROVIDERS.get(name);
  if (provider === undefined) throw new Error(`no provider is named "${name}"`);
  return provider;
}

function connectionOf(provider: UpstreamProvider): Connection {
  const secrets = { webhookSecret: null, userId: null, jwksUrl: null, pollsPerMinute: null };
  const limits = { inFlight: null, queueLimit: 0, pool: null };
  return { name: provider.name, provider, baseUrl: BASE, key: "key", ...secrets, ...limits };
}

/** Polls a job of an upstream that gives these answers, and returns what the task learns. */
async function polled(
  provider: UpstreamProvider,
  bodies: readonly unknown[],
  rules: Parameters<typeof pollAnswer>[2],
) {
  const left = [...bodies];
  const ask: Parameters<typeof askProvider>[5] = async () => {
    return { status: 200, headers: new Headers(), body: left.shift() };
  };
  const job = { id: "job-1", endpoint: "fal-ai/flux/dev" };
  const { signal } = new AbortController();
  const connection = connectionOf(provider);
  const answered = await askProvider(job, connection, "key", provider.polls, signal, ask);
  return answered === null ? null : pollAnswer(answered.reading, answered.head, rules);
}

it("for a file inside the answer to a poll, the output's URL is that of the poll with a JSON Pointer to the file as its fragment, and the pointer can be read back", async () => {
  const body = { id: "job-1", status: "succeeded", output: { "a/b~ #é": [DATA_URL] } };
  const answer = await polled(named("replicate"), [body], KEPT);
  const url = `${BASE}/v1/predictions/job-1#/output/a~1b~0%20%23%C3%A9/0`;
  expect(answer).toMatchObject({ kind: "news", news: { status: "completed", urls: [url] } });
  expect(inlinePointer(new URL(url))).toBe("/output/a~1b~0 #é/0");
});

it("a JPEG in base64 at a place that the declaration names is read as a file, not as a path on the upstream's host, although its base64 begins with a slash", async () => {
  const { runpod } = DECLARATIONS;
  const poll = { ...runpod.poll, outputs: ["/output"], outputs_in: null };
  const provider = declared("gpu", { ...runpod, poll, key: "k" });
  const output = `/9j/4AAQSkZJRgABAQ${"A".repeat(300)}`;
  const body = { id: "job-1", status: "COMPLETED", output };
  expect(await polled(provider, [body], KEPT)).toMatchObject({
    news: { status: "completed", urls: [expect.stringMatching(/\/job-1#\/output$/)] },
  });
});

it("when a poll takes two requests and the answer to the second contains a file, the output's URL is that of the second request", async () => {
  const bodies = [{ status: "COMPLETED" }, { images: [{ url: DATA_URL }], seed: 1 }];
  expect(await polled(named("fal"), bodies, KEPT)).toMatchObject({
    news: { urls: [`${BASE}/fal-ai/flux/requests/job-1#/images/0/url`] },
  });
});

it("a poll whose answer contains the output as a file fails the task at once when the relay copies no outputs", async () => {
  const body = { id: "job-1", status: "succeeded", output: DATA_URL };
  expect(await polled(named("replicate"), [body], RULES)).toMatchObject({
    news: {
      status: "failed",
      error: {
        code: "output_needs_store",
        message: expect.stringContaining("where it has a bucket"),
      },
      failure: { retryable: false },
    },
  });
});

it.each<[string, object, unknown]>([
  ["to a poll by POST", { path: "/q", method: "POST", body: { id: "{id}" } }, DATA_URL],
  ["that has it within a JSON text", { path: "/q/{id}" }, JSON.stringify({ image: DATA_URL })],
  ["under a member name with half a surrogate pair", { path: "/q/{id}" }, { "\ud800": DATA_URL }],
])(
  "a file inside an answer %s fails the task, even in a relay that copies outputs, because the relay could not find the file again",
  async (_, poll, output) => {
    const provider = declared("a", {
      provider: "generic",
      base_url: BASE,
      submit: { path: "/run", id: "/id" },
      poll: { ...poll, state: "/state", outputs: ["/url"] },
    });
    expect(await polled(provider, [{ state: "done", output }], KEPT)).toMatchObject({
      news: {
        error: { code: "output_needs_store", message: expect.stringContaining("ask for again") },
        failure: { retryable: false },
      },
    });
  },
);

it("when the only output of a job is text, the task fails at once, whether the relay copies outputs or not, because text is not a file", async () => {
  const body = { id: "job-1", status: "succeeded", output: ["Hello", ", world"] };
  const failed = { error: { code: "output_not_a_file" }, failure: { retryable: false } };
  expect(await polled(named("replicate"), [body], RULES)).toMatchObject({ news: failed });
  expect(await polled(named("replicate"), [body], KEPT)).toMatchObject({ news: failed });
});

it.each(["processing", "failed"])(
  "a file in the answer to a poll is not taken for an output when the job is %s",
  async (status) => {
    const body = { id: "job-1", status, output: DATA_URL };
    expect(await polled(named("replicate"), [body], KEPT)).toMatchObject({ news: { status } });
  },
);

it("when the answer to a poll has both a link and a file, only the link is an output", async () => {
  const url = "https://cdn.example.net/1.mp4";
  const body = { id: "job-1", status: "succeeded", output: [url, DATA_URL] };
  expect(await polled(named("replicate"), [body], KEPT)).toMatchObject({ news: { urls: [url] } });
});

it.each<[string, boolean, object]>([
  [
    "does not end the task when the relay copies outputs, because a poll finds the file again",
    true,
    { status: "no_output" },
  ],
  [
    "fails the task at once when the relay copies no outputs",
    false,
    { status: "failed", error: { code: "output_needs_store" } },
  ],
])("a hook that contains the output as a file %s", (_, areOutputsKept, news) => {
  const provider = named("replicate");
  if (provider.hooks === null) throw new Error("replicate sends hooks");
  const target = { adapter: provider.hooks, connection: connectionOf(provider) };
  const body = { id: "job-1", status: "succeeded", output: DATA_URL };
  const task = { taskId: "0c3f8a52-5d0e-4b6c-9b2e-3a1f5d7e9c11", submissionId: null };
  const hook = aHook({}, JSON.stringify(body), { path: "/hooks/replicate/task/token" });
  const config = { ...CONFIG, areOutputsKept };
  expect(hookEvent({ ...target, ...task }, body, hook, true, config)).toMatchObject({ news });
});

it("when an upstream's link to its own host has a JSON Pointer as its fragment, the fragment is removed, so that the relay fetches no answer with its key", () => {
  const links = [`${BASE}/other#/a`, `${BASE}/page#top`, "https://cdn.example.com/a#/b"];
  const plain = [`${BASE}/other`, `${BASE}/page#top`, "https://cdn.example.com/a#/b"];
  const observation: Observation = {
    jobId: "job-1",
    state: "done",
    urls: links,
    keyedUrls: links,
    metadata: {},
    completedAt: null,
    error: null,
  };
  const read = withOutputOf(observation, [], BASE);
  expect([read.urls, read.keyedUrls]).toEqual([plain, plain]);
});

it.each<[ContentAnswer["kind"] & ("opens" | "closed"), readonly string[]]>([
  ["opens", [`${BASE}/v1/videos/job-1/content`, `${BASE}/v1/videos/job-1#/last_frame`]],
  ["closed", [`${BASE}/v1/videos/job-1#/last_frame`]],
])(
  "a picture inside an answer is always an output, the file at the job's content path only if a check of this path has the result opens: here %s",
  async (kind, urls) => {
    const provider = named("openai-videos");
    const body = { id: "job-1", object: "video", status: "completed", last_frame: DATA_URL };
    const ask: Parameters<typeof askProvider>[5] = async () => {
      return { status: 200, headers: new Headers(), body };
    };
    const job = { id: "job-1", endpoint: null };
    const { signal } = new AbortController();
    const stated = await askProvider(
      job,
      connectionOf(provider),
      "key",
      provider.polls,
      signal,
      ask,
    );
    if (stated === null) throw new Error("the poll has no answer");
    const asked: string[] = [];
    const answered = await withContent(
      stated,
      () => false,
      async (url) => {
        asked.push(url);
        return { kind };
      },
    );
    if (answered === null) throw new Error("the content path has no answer");
    expect(asked).toEqual([`${BASE}/v1/videos/job-1/content`]);
    expect(pollAnswer(answered.reading, answered.head, KEPT)).toMatchObject({
      news: { status: "completed", urls },
    });
  },
);
