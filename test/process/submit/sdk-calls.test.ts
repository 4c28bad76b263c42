import Replicate from "replicate";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { TaskRelay } from "../../../client/src/index.ts";
import { fetchFor } from "../../../client/src/sdk-fetch.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { startRelay } from "../harness/relay.ts";
import { RelayFront } from "./relay-front.ts";
import { FILE, type SdkJob, VERSION } from "./sdk-apis.ts";
import {
  falOf,
  geminiOf,
  lumaOf,
  openaiOf,
  replicateOf,
  runwayOf,
  type SdkUser,
} from "./sdk-clients.ts";
import { SdkUpstream } from "./sdk-upstream.ts";

/** Time in milliseconds within which a task that has ended calls back. */
const CALLED_BACK_WITHIN_MS = 60_000;
/** Time in milliseconds that Replicate demands between two polls of a job. */
const GAP_MS = 1_000;
const KEY = "process-test-sdk-calls-key";
const CUSTOMER_S_KEY = "process-test-sdk-calls-key-of-a-customer";

const upstream = await forThisFile(SdkUpstream.start(KEY, CUSTOMER_S_KEY));
const receiver = await forThisFile(Receiver.start());
const front = await forThisFile(RelayFront.start((): string => relay.url));
const OFFERS = JSON.stringify([
  { connection: "replicate", models: ["acme/*", VERSION], price: null },
  { connection: "runway", models: ["*"], price: null, uploads: true },
  { connection: "openai-videos", models: ["*"], price: null },
]);
const vars = { ...LOCAL_VARS, ...upstream.varsWith(KEY), PUBLIC_URL: front.origin, OFFERS };
const relay = await forThisFile(startRelay({ vars }));
const verify = await relay.client.verifier();

/** Returns what SDKs work with whose job calls back at a path of this name. @param key a key of the relay. */
function user(name: string, key = OPERATOR_KEY): SdkUser {
  const url = receiver.at(`/${name}`, { kind: "answer", status: 200 });
  return { relay: front.origin, key, headers: { "Relay-Callback-Url": url } };
}

/** Returns what SDKs work with that have a customer's own key, and the relay's in a header of all calls. */
function customer(name: string): SdkUser {
  const who = user(name, CUSTOMER_S_KEY);
  return { ...who, headers: { ...who.headers, "Relay-Key": OPERATOR_KEY } };
}

/** Returns the callback to the path of a name, which is waited for. */
async function calledBack(name: string): Promise<unknown> {
  await vi.waitUntil(() => receiver.postsAt(`/${name}`).length > 0, CALLED_BACK_WITHIN_MS);
  const [callback] = receiver.postsAt(`/${name}`);
  return callback === undefined ? null : verify(callback);
}

/** Creates an account, and returns its API key. */
async function keyOf(account: string): Promise<string> {
  await relay.client.ask("POST", "/v1/accounts", { id: account });
  const { json } = await relay.client.ask("POST", `/v1/accounts/${account}/keys`, {});
  return z.object({ key: z.string() }).parse(json).key;
}

it("when replicate.wait reads a job every 20 ms, the relay asks Replicate about the job at most once per second", async () => {
  const replicate = replicateOf(user("gaps"));
  const input = { prompt: "a fox that is waited for" };
  const started = await replicate.predictions.create({ model: "acme/fox", input });
  const ended = await replicate.wait(started, { interval: 20 });
  const job = upstream.jobOf("replicate", input.prompt);
  expect(ended.output).toBe(job.output);
  const times = upstream.about(job).map(({ at }) => at);
  const span = Math.max(...times) - Math.min(...times);
  expect(times.length).toBeLessThanOrEqual(Math.floor(span / GAP_MS) + 2);
  expect(front.readsOf(job.id)).toBeGreaterThan(5 * times.length);
});

it("replicate.run, which asks Replicate to hold its response until the result, still gets the output when the job has not begun by the time of the response", async () => {
  const input = { prompt: "a fox that has not begun" };
  const output = await replicateOf(user("blocking")).run("acme/fox", { input });
  expect(output).toBe(upstream.jobOf("replicate", input.prompt).output);
  expect(upstream.submitted("replicate", input.prompt)[0]?.headers["prefer"]).toBe("wait");
});

it("with the fetch function of the relay's client, replicate.run waits for its job, and predictions.cancel cancels a job", async () => {
  const client = new TaskRelay({ url: front.origin, key: OPERATOR_KEY });
  const [{ headers }, baseUrl] = [user("by-fetch"), "https://api.replicate.com"];
  const callbackUrl = headers["Relay-Callback-Url"] ?? "";
  const replicate = new Replicate({
    auth: "not the relay's",
    useFileOutput: false,
    fetch: fetchFor(client, "replicate", { baseUrl, callbackUrl }),
  });
  const input = { prompt: "a fox by the fetch" };
  const output = await replicate.run("acme/fox", { input, wait: { mode: "poll" } });
  expect(output).toBe(upstream.jobOf("replicate", input.prompt).output);
  const stopped = { prompt: "a fox that is stopped" };
  const started = await replicate.predictions.create({ model: "acme/fox", input: stopped });
  expect(await replicate.predictions.cancel(started.id)).toMatchObject({ status: "canceled" });
  expect(upstream.jobOf("replicate", stopped.prompt).state).toBe("canceled");
});

it("an account waits for its job with replicate.run; another account that reads the same job gets a 404 in the form of Replicate's errors", async () => {
  const [acme, other] = [await keyOf("acme"), await keyOf("other")];
  const input = { prompt: "a fox of acme" };
  const order = { "Idempotency-Key": "acme-1" };
  const { headers, ...rest } = user("acme", acme);
  const replicate = replicateOf({ ...rest, headers: { ...headers, ...order } });
  const output = await replicate.run("acme/fox", { input, wait: { mode: "poll" } });
  const job = upstream.jobOf("replicate", input.prompt);
  expect(output).toBe(job.output);
  const seen = upstream.about(job).length;
  await expect(replicateOf(user("foreign", other)).predictions.get(job.id)).rejects.toThrow(
    'status 404 Not Found: {"status":404,"detail":',
  );
  expect(upstream.about(job)).toHaveLength(seen);
});

it("fal.subscribe in the mode streaming gets each status of its job, and then the output", async () => {
  const fal = falOf(user("streaming"));
  const input = { prompt: "a fox that is streamed" };
  const updates: string[] = [];
  const { data } = await fal.subscribe("fal-ai/fox/video", {
    input,
    mode: "streaming",
    onQueueUpdate: ({ status }) => updates.push(status),
  });
  const job = upstream.jobOf("fal", input.prompt);
  expect(data).toEqual({ video: { url: job.output } });
  expect([...new Set(updates)]).toEqual(["IN_QUEUE", "IN_PROGRESS", "COMPLETED"]);
});

/** A job that an SDK has started and cancels. */
interface Canceling {
  readonly call: string;
  readonly connection: string;
  readonly start: (user: SdkUser, prompt: string) => Promise<unknown>;
  readonly cancel: (user: SdkUser, job: SdkJob) => Promise<unknown>;
  /** True where the upstream documents a call that stops a job, so that the relay asks for it. */
  readonly stops: boolean;
}

const VIDEO = { model: "veo3.1", ratio: "1280:720", duration: 8 } as const;
const CANCELINGS: readonly Canceling[] = [
  {
    call: "replicate.predictions.cancel",
    connection: "replicate",
    start: (who, prompt) =>
      replicateOf(who).predictions.create({ model: "acme/fox", input: { prompt } }),
    cancel: (who, { id }) => replicateOf(who).predictions.cancel(id),
    stops: true,
  },
  {
    call: "fal.queue.cancel",
    connection: "fal",
    start: (who, prompt) => falOf(who).queue.submit("fal-ai/fox/video", { input: { prompt } }),
    cancel: (who, { id }) => falOf(who).queue.cancel("fal-ai/fox/video", { requestId: id }),
    stops: true,
  },
  {
    call: "runway.tasks.delete",
    connection: "runway",
    start: (who, promptText) => runwayOf(who).textToVideo.create({ ...VIDEO, promptText }),
    cancel: (who, { id }) => runwayOf(who).tasks.delete(id),
    stops: true,
  },
  {
    call: "openai.videos.delete",
    connection: "openai-videos",
    start: (who, prompt) => openaiOf(who).videos.create({ prompt }),
    cancel: (who, { id }) => openaiOf(who).videos.delete(id),
    stops: false,
  },
  {
    call: "lumaai.generations.delete",
    connection: "luma",
    start: (who, prompt) => lumaOf(who).generations.video.create({ model: "ray-2", prompt }),
    cancel: (who, { id }) => lumaOf(who).generations.delete(id),
    stops: false,
  },
  {
    call: "gemini.interactions.cancel",
    connection: "gemini",
    start: (who, input) =>
      geminiOf(who).interactions.create({
        model: "gemini-omni-1.1-flash",
        input,
        background: true,
        response_format: { type: "video", delivery: "uri" },
      }),
    cancel: (who, { id }) => geminiOf(who).interactions.cancel(id),
    stops: true,
  },
];

it.concurrent.each(CANCELINGS)(
  "$call cancels the task, whose callback says so; if $connection can stop a job, the relay asks it once to do so",
  async ({ call, connection, start, cancel, stops }) => {
    const name = `canceled-${connection}`;
    const prompt = `a fox that ${call} ends`;
    const who = user(name);
    await start(who, prompt);
    await cancel(who, upstream.jobOf(connection, prompt));
    expect(await calledBack(name)).toMatchObject({ status: "failed", error: { code: "canceled" } });
    const job = upstream.jobOf(connection, prompt);
    const orders = upstream.about(job).filter(({ method }) => method !== "GET");
    expect([orders.length, job.state === "canceled"]).toEqual([stops ? 1 : 0, stops]);
  },
);

it.concurrent.each(["openai-videos", "newapi"])(
  "openai.videos.downloadContent gets the file of a job at %s, also with a customer's own key; no upstream sees a key of the relay",
  async (connection) => {
    for (const owner of ["connection", "customer"]) {
      const name = `content-${connection}-${owner}`;
      const prompt = `a fox that is downloaded from ${connection} for the ${owner}`;
      const openai = openaiOf(owner === "connection" ? user(name) : customer(name), connection);
      const { id } = await openai.videos.create({ prompt });
      await calledBack(name);
      const file = await openai.videos.downloadContent(id);
      expect(await file.text()).toBe(FILE);
      const job = upstream.jobOf(connection, prompt);
      expect(JSON.stringify(upstream.about(job))).not.toContain(OPERATOR_KEY);
    }
  },
);

const FOX = () => new File([FILE], "fox.png", { type: "image/png" });

it("replicate.run uploads an input file through the relay, and the job is submitted with the link that Replicate returned for the file", async () => {
  const input = { prompt: "a fox after a picture", image: FOX() };
  const replicate = replicateOf(user("replicate-file"));
  const output = await replicate.run("acme/fox", { input, wait: { mode: "poll" } });
  expect(output).toBe(upstream.jobOf("replicate", input.prompt).output);
  const [submitted] = upstream.submitted("replicate", input.prompt);
  expect(submitted?.body).toMatch(/"image":"http:[^"]+\/replicate\/v1\/files\/file-1"/);
});

it("an account whose offer names a version of a model runs this version with replicate.run, and reads it with models.versions.get", async () => {
  const replicate = replicateOf(user("version", await keyOf("runner")));
  const input = { prompt: "a fox of a version" };
  const output = await replicate.run(`acme/fox:${VERSION}`, { input, wait: { mode: "poll" } });
  expect(output).toBe(upstream.jobOf("replicate", input.prompt).output);
  const version = await replicate.models.versions.get("acme", "fox", VERSION);
  expect(version).toMatchObject({ id: VERSION, openapi_schema: expect.any(Object) });
});

it("fal.subscribe asks through the relay where to upload an input file, and uploads it there without a key", async () => {
  const input = { prompt: "a fox after a picture", image: FOX() };
  const { data } = await falOf(user("fal-file")).subscribe("fal-ai/fox/video", { input });
  expect(data).toEqual({ video: { url: upstream.jobOf("fal", input.prompt).output } });
  const [stored] = upstream.stored.filter(({ method }) => method === "PUT");
  expect([stored?.path, stored?.body, stored?.headers.authorization]).toEqual([
    "/uploads/fal",
    FILE,
    undefined,
  ]);
  const [submitted] = upstream.submitted("fal", input.prompt);
  expect(submitted?.body).toMatch(/"image":"http:[^"]+\/storage\/uploads\/fox"/);
});

it("openai.files.create uploads a file through the relay", async () => {
  const file = await openaiOf(user("openai-file")).files.create({
    file: FOX(),
    purpose: "user_data",
  });
  expect(file).toMatchObject({ id: "file-1", bytes: FILE.length });
});

it("runway.uploads.createEphemeral uploads a file for an account whose offer permits uploads, sends the storage no key, and is refused where no offer does", async () => {
  const key = await keyOf("uploader");
  const { uri } = await runwayOf(user("runway-file", key)).uploads.createEphemeral({ file: FOX() });
  expect(uri).toBe("runway://fox");
  const [stored] = upstream.stored.filter(({ method }) => method === "POST");
  expect(stored?.body).toContain(FILE);
  expect(JSON.stringify(stored)).not.toContain(key);
  const refused = openaiOf(user("refused-file", key)).files.create({
    file: FOX(),
    purpose: "user_data",
  });
  await expect(refused).rejects.toThrow(/403/);
});
