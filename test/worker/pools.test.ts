import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount } from "./accounts.ts";
import { logIn, visit } from "./browser.ts";
import { callWith, invalid, ORIGIN, OPERATOR_KEY, refusal } from "./client.ts";
import { until, useClock } from "./clock.ts";
import { sendHook } from "./hooked.ts";
import { aSubmittedTask, callJob } from "./job-calls.ts";
import { restart, stored, stubOf } from "./objects.ts";
import { jobObject } from "../../src/objects/object-names.ts";
import { anOutside, answering, type Outside } from "./outside.ts";
import { started } from "./started.ts";
import { DECLARATIONS } from "../providers/declarations.ts";
import { hex, hmac } from "../providers/hook.ts";
import { readSubmitted, submit } from "./submitted.ts";
import { CALLBACK_URL, VIDEO } from "./tasks.ts";

useClock();

const [A, B] = ["https://a.example.org", "https://b.example.org/proxy"] as const;
const [KEY_A, KEY_B] = ["test-only-pool-key-a", "test-only-pool-key-b"] as const;
const secretOf = (letter: string) => `whsec_${btoa(letter.repeat(32))}`;
const [SECRET_A, SECRET_B, OTHER] = [secretOf("a"), secretOf("b"), secretOf("c")] as const;
const PROXY = "https://proxy.example.org/v7";
const REPLICATE = "https://api.replicate.com/v1/predictions";
const CONNECTIONS = JSON.stringify({
  "videos-a": { provider: "openai-videos", key: KEY_A, base_url: A, in_flight: 5, queue: 50 },
  "videos-b": { provider: "openai-videos", key: KEY_B, base_url: B },
  videos: { provider: "pool", of: ["videos-a", "videos-b"], queue: 7 },
  "rep-a": { provider: "replicate", key: KEY_A, webhook_secret: SECRET_A },
  "rep-b": { provider: "replicate", key: KEY_B, webhook_secret: SECRET_B, base_url: PROXY },
  rep: { provider: "pool", of: ["rep-a", "rep-b"] },
  "sync-a": { ...DECLARATIONS["sync-so"], key: KEY_A, webhook_secret: SECRET_A },
  "sync-b": { ...DECLARATIONS["sync-so"], key: KEY_B, webhook_secret: SECRET_B, base_url: B },
  sync: { provider: "pool", of: ["sync-a", "sync-b"] },
  empty: { provider: "pool", of: [] },
});
const OFFERS = JSON.stringify(
  ["videos", "rep"].map((connection) => ({ connection, models: ["*"], uploads: true })),
);
const EXTRA_BASE_HOSTS = new URL(PROXY).host;
const RELAY = { ...env, PUBLIC_URL: ORIGIN, EXTRA_BASE_HOSTS, CONNECTIONS, OFFERS };
const MODEL = "acme/fox:5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa";
const PREDICT = {
  connection: "rep",
  path: "/v1/predictions",
  body: { version: MODEL, input: { prompt: "a fox" } },
  bindings: RELAY,
};
const GENERATE = {
  connection: "videos",
  path: "/v1/videos",
  body: { model: "sora-2", prompt: "a fox" },
  bindings: RELAY,
};
/** Names of members, which accounts must not see. */
const MEMBERS = /(?:videos|rep)-[ab]/;

const Stored = z.looseObject({ upstream: z.looseObject({ connection: z.string() }) });

/** Lets the job of a task run with this member of the pool, whichever member has got it. */
async function runWith(taskId: string, member: string): Promise<void> {
  const record = Stored.parse((await stored(taskId)).record);
  const moved = { ...record, upstream: { ...record.upstream, connection: member } };
  await runInDurableObject(stubOf(taskId), (_, { storage }) => storage.kv.put("task", moved));
  await restart(taskId, RELAY);
}

/** Replaces the network by two gateways; the second one has the job when it is asked for it. */
function gateways(jobId: string, state: object = {}): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  const job = { id: jobId, object: "video", status: "queued", model: "sora-2" };
  outside.on(A, answering(job));
  outside.on(B, answering(job));
  outside.on(`${B}/v1/videos/${jobId}`, answering({ ...job, echo: [KEY_A, KEY_B], ...state }));
  outside.on(`${B}/v1/videos/${jobId}/content`, () => new Response("film"));
  return outside;
}

/** Submits a video to the pool as an account, and lets it run with the second member. */
async function aVideo(state: object = {}) {
  const { key } = await aKey(await anAccount());
  const jobId = `video_${crypto.randomUUID().slice(0, 8)}`;
  const outside = gateways(jobId, state);
  const taskId = await aSubmittedTask({ ...GENERATE, key });
  await runWith(taskId, "videos-b");
  return { key, jobId, outside, taskId };
}

it("an account reads a job that it has submitted to a pool below the path of the pool, from the member with which the job runs, and sees no key of any member", async () => {
  const { key, jobId, outside, taskId } = await aVideo();
  const response = await callJob("videos", `/v1/videos/${jobId}`, { key }, RELAY);
  const text = await response.text();
  expect(JSON.parse(text)).toMatchObject({ id: jobId, status: "queued", echo: ["…", "…"] });
  expect(response.headers.get("Relay-Task-Id")).toBe(taskId);
  const [asked] = outside.sentTo(`${B}/v1/videos/${jobId}`);
  expect(asked?.headers["authorization"]).toBe(`Bearer ${KEY_B}`);
  const shown = [text, JSON.stringify([...response.headers])].join();
  expect(shown).not.toMatch(MEMBERS);
});

it("a job of a pool is unknown below the path of its member, and to an account that has not submitted it", async () => {
  const { key, jobId } = await aVideo();
  const other = (await aKey(await anAccount())).key;
  const path = `/v1/videos/${jobId}`;
  expect((await callJob("videos", path, { key: other }, RELAY)).status).toBe(404);
  expect((await callJob("videos-b", path, { key: OPERATOR_KEY }, RELAY)).status).toBe(404);
  expect((await callJob("videos", path, { key: OPERATOR_KEY }, RELAY)).status).toBe(200);
  expect((await callJob("videos", path, { key }, RELAY)).status).toBe(200);
});

it("the output of a job of a pool that opens only with a key is fetched from the member with which the job runs", async () => {
  const { key, jobId, outside, taskId } = await aVideo({ status: "completed", progress: 100 });
  await callJob("videos", `/v1/videos/${jobId}`, { key }, RELAY);
  await until(async () => (await readSubmitted(taskId, RELAY)).status === "completed");
  const content = `/v1/videos/${jobId}/content`;
  const response = await callJob("videos", content, { key }, RELAY);
  expect((await response.arrayBuffer()).byteLength).toBe("film".length);
  const fetched = outside.sentTo(`${B}${content}`);
  expect(fetched.at(-1)?.headers["authorization"]).toBe(`Bearer ${KEY_B}`);
  expect(outside.sentTo(`${A}${content}`)).toEqual([]);
});

it("when the task of a job of a pool is erased, the relay also forgets to which task the job belongs", async () => {
  const { key, jobId, taskId } = await aVideo({ status: "completed", progress: 100 });
  await callJob("videos", `/v1/videos/${jobId}`, { key }, RELAY);
  await until(async () => (await readSubmitted(taskId, RELAY)).status === "completed");
  const taskOf = async () => await jobObject(await started(RELAY), "videos", jobId).task(jobId);
  expect(await taskOf()).toBe(taskId);
  expect((await callWith(RELAY, `/v1/tasks/${taskId}`, { method: "DELETE" })).ok).toBe(true);
  expect(await taskOf()).toBeNull();
});

/** Replaces the network by a Replicate, submits a prediction to the pool, and lets it run with the second member. */
async function aPrediction() {
  const jobId = crypto.randomUUID().replaceAll("-", "");
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(
    REPLICATE,
    answering({ id: jobId, version: MODEL, status: "starting", input: {} }, 201),
  );
  const taskId = await aSubmittedTask(PREDICT);
  await runWith(taskId, "rep-b");
  const [{ body } = { body: "{}" }] = outside.sentTo(REPLICATE);
  const { webhook } = z.looseObject({ webhook: z.string() }).parse(JSON.parse(body));
  return { jobId, taskId, hookUrl: webhook };
}

/** Sends the hook about the end of a prediction with this output, signed with this secret. */
async function hookOf(
  { jobId, hookUrl }: { jobId: string; hookUrl: string },
  secret: string,
  output = VIDEO,
) {
  const body = JSON.stringify({ id: jobId, version: MODEL, status: "succeeded", output });
  const now = new Date(Date.now());
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": `${Math.floor(now.getTime() / 1_000)}`,
    "webhook-signature": new Webhook(secret).sign("msg_1", now, body),
  };
  return await sendHook({ hookUrl, bindings: RELAY }, body, headers);
}

it.each([
  ["the first", SECRET_A],
  ["the last", SECRET_B],
])(
  "a hook to the URL of a pool that is signed with the secret of %s member ends the task",
  async (_, secret) => {
    const job = await aPrediction();
    expect(new URL(job.hookUrl).pathname).toMatch(/^\/hooks\/rep\//);
    expect((await hookOf(job, secret)).status).toBe(200);
    expect(await readSubmitted(job.taskId, RELAY)).toMatchObject({ status: "completed" });
  },
);

it("a hook to the URL of a pool that is signed with the secret of no member is refused, and the task stores this", async () => {
  const job = await aPrediction();
  expect(await refusal(await hookOf(job, OTHER))).toMatchObject({ status: 401 });
  expect(JSON.stringify((await stored(job.taskId)).record)).toContain("bad_signature");
  expect(await readSubmitted(job.taskId, RELAY)).toMatchObject({ status: "pending" });
});

it("a link in a hook to the URL of a pool cannot lead to a place in an answer of any member, because the relay would fetch that answer with its key", async () => {
  const job = await aPrediction();
  await hookOf(job, SECRET_A, `${PROXY}/v1/predictions/x#/output`);
  const { record } = await stored(job.taskId);
  expect(JSON.stringify(record)).toContain(`${PROXY}/v1/predictions/x`);
  expect(JSON.stringify(record)).not.toContain("#/output");
});

it("a signed hook to the URL of a pool of declared upstreams does not end the task before a poll, because its links may be paths on the host of another member", async () => {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  const job = { id: "sync-1", status: "COMPLETED" };
  outside.on(DECLARATIONS["sync-so"].base_url, answering({ id: "sync-1", status: "PENDING" }));
  outside.on(B, answering({ ...job, outputUrl: "/poll.mp4" }));
  const body = { model: "lipsync-2", input: [] };
  const taskId = await aSubmittedTask({
    ...PREDICT,
    connection: "sync",
    path: "/v2/generate",
    body,
  });
  await runWith(taskId, "sync-b");
  const [sent = { body: "{}" }] = outside.sentTo(DECLARATIONS["sync-so"].base_url);
  const hookUrl = z.looseObject({ webhookUrl: z.string() }).parse(JSON.parse(sent.body)).webhookUrl;
  const hook = JSON.stringify({ ...job, outputUrl: "/hook.mp4" });
  const at = Math.floor(Date.now() / 1_000);
  const signature = hex(await hmac(SECRET_B, `${at}.${hook}`));
  const headers = { "Sync-Signature": `t=${at},v1=${signature}` };
  expect((await sendHook({ hookUrl, bindings: RELAY }, hook, headers)).status).toBe(200);
  await until(async () => (await readSubmitted(taskId, RELAY)).status === "completed");
  const { record } = await stored(taskId);
  expect(JSON.stringify(record)).toContain("https://b.example.org/poll.mp4");
});

it("links to the API of a member in its answer about a job of a pool lead to the path of the pool at the relay", async () => {
  const { jobId, taskId } = await aPrediction();
  const urls = { get: `${PROXY}/v1/predictions/${jobId}` };
  anOutside().on(PROXY, answering({ id: jobId, status: "processing", urls }));
  const path = `/v1/predictions/${jobId}`;
  const response = await callJob("rep", path, { key: OPERATOR_KEY }, RELAY);
  expect(response.headers.get("Relay-Task-Id")).toBe(taskId);
  expect(await response.json()).toMatchObject({ urls: { get: `${ORIGIN}/v1/submit/rep${path}` } });
});

it("a call that an SDK makes beside its jobs below the path of a pool has the key of the first member", async () => {
  const outside = anOutside();
  outside.on("https://api.replicate.com", answering({ id: "v" }));
  const { key } = await aKey(await anAccount());
  const path = `/v1/models/acme/fox/versions/${MODEL.split(":")[1]}`;
  expect((await callJob("rep", path, { key }, RELAY)).status).toBe(200);
  expect(outside.sentTo("https://")[0]?.headers["authorization"]).toBe(`Bearer ${KEY_A}`);
});

it("a submission to a pool with a customer's own key for the upstream is refused with 400, and nothing is sent", async () => {
  const outside = anOutside();
  const headers = { Authorization: "Bearer sk-own", "Relay-Key": OPERATOR_KEY };
  const body = JSON.stringify(PREDICT.body);
  const path = `/v1/submit/rep${PREDICT.path}`;
  const response = await submit({ path, body, headers, key: null, bindings: RELAY });
  expect(await response.clone().text()).toContain("rep is a pool, whose calls use its own keys");
  expect(await refusal(response)).toEqual(invalid("/Relay-Key"));
  expect(outside.sentTo("https://")).toEqual([]);
});

it("a task cannot be registered with a pool, because its job runs with a member, which the error message names", async () => {
  const body = { model: "m", callback_url: CALLBACK_URL, provider: "rep" };
  const response = await callWith(RELAY, "/v1/tasks", { body });
  expect(await response.clone().text()).toContain("rep-a, rep-b");
  expect(await refusal(response)).toEqual(invalid("/provider"));
});

it("a submission to a pool that is disabled because of a fault gets 503, and another connection serves on", async () => {
  gateways("video_1");
  const path = "/v1/submit/empty/v1/videos";
  const refused = await submit({ path, body: "{}", bindings: RELAY });
  expect(await refusal(refused)).toMatchObject({ status: 503, code: "not_configured" });
  await aSubmittedTask({ ...GENERATE, connection: "videos-a" });
});

it("GET /healthz lists pools with their members apart from connections, the limits of both, and the faults of disabled ones", async () => {
  const health: unknown = await (await callWith(RELAY, "/healthz")).json();
  expect(health).toMatchObject({
    connections: {
      "videos-a": { key: "set", in_flight: 5, queue: 50 },
      "videos-b": { key: "set" },
    },
    pools: {
      videos: {
        provider: "openai-videos",
        of: ["videos-a", "videos-b"],
        queue: 7,
      },
      rep: { provider: "replicate", of: ["rep-a", "rep-b"], queue: 1_000 },
    },
    disabled: [{ name: "empty", provider: "pool", issues: [{ path: "CONNECTIONS.empty.of" }] }],
  });
  const { connections } = z.object({ connections: z.record(z.string(), z.object()) }).parse(health);
  expect(Object.keys(connections)).not.toContain("videos");
  expect(connections["videos-b"]).not.toHaveProperty("in_flight");
});

it("GET /healthz names each entry with a wrong limit or a wrong pool and what is wrong in it, and the other connections serve on", async () => {
  gateways("video_2");
  const entry = { provider: "openai-videos", key: KEY_A, base_url: A };
  const CONNECTIONS_2 = JSON.stringify({
    none: { ...entry, in_flight: 0 },
    text: { ...entry, in_flight: "5" },
    mixed: { provider: "pool", of: ["videos-a", "rep-a"] },
    unknown: { provider: "pool", of: ["videos-a", "nobody"] },
    nested: { provider: "pool", of: ["videos"] },
  });
  const bindings = { ...RELAY, CONNECTIONS_2 };
  const health = await (await callWith(bindings, "/healthz")).json();
  const Health = z.object({
    disabled: z.array(
      z.object({ name: z.string(), issues: z.array(z.object({ path: z.string() })) }),
    ),
  });
  const { disabled } = Health.parse(health);
  const faults = disabled.map(({ name, issues }) => [name, issues[0]?.path]);
  expect(Object.fromEntries(faults)).toEqual({
    empty: "CONNECTIONS.empty.of",
    mixed: "CONNECTIONS_2.mixed.of.1",
    nested: "CONNECTIONS_2.nested.of.0",
    none: "CONNECTIONS_2.none.in_flight",
    text: "CONNECTIONS_2.text.in_flight",
    unknown: "CONNECTIONS_2.unknown.of.1",
  });
  await aSubmittedTask({ ...GENERATE, bindings });
});

it("the console's page of providers shows the members of each pool", async () => {
  const page = await visit("/providers", await logIn(undefined, RELAY), {}, RELAY);
  const [, row] = /id="connection-videos"([^]*?)<\/tr>/.exec(await page.text()) ?? [];
  expect(row).toContain("of videos-a, videos-b");
});
