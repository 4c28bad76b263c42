import { createFalClient } from "@fal-ai/client";
import OpenAI from "openai";
import Replicate from "replicate";
import { expect, it, vi } from "vitest";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { field } from "../upstreams/apis.ts";
import { LOST, SDK_JOB, SdkUpstream } from "./sdk-upstream.ts";

/** Time in milliseconds within which polls find the end of a job: the first is made after 10 s. */
const CALLED_BACK_WITHIN_MS = 60_000;
const IMAGES_PATH = /images\/generations$/;

const upstream = await forThisFile(SdkUpstream.start());
const direct = await forThisFile(SdkUpstream.start());
const receiver = await forThisFile(Receiver.start());
const relay = await forThisFile(Workerd.start({ vars: { ...LOCAL_VARS, ...upstream.vars } }));

type Headers = Readonly<Record<string, string>>;

/** An SDK with its default retries. */
interface Sdk {
  readonly name: string;
  /** Path at which its upstream gets the submission. */
  readonly path: RegExp;
  /** Number of times that it repeats a call whose connection was lost. */
  readonly repetitions: number;
  /** Submits a job with headers for the relay, and returns what the upstream has answered. */
  readonly submit: (prompt: string, callbackUrl: string, headers: Headers) => Promise<unknown>;
}

/** Returns the SDKs with the relay's key. @param baseOf base URL by the name of the connection. */
function sdksAt(baseOf: (connection: string) => string): readonly Sdk[] {
  // Calls of this SDK take no headers, but its `fetch` can add some.
  const replicateWith = (headers: Headers) =>
    new Replicate({
      auth: OPERATOR_KEY,
      baseUrl: `${baseOf("replicate")}/v1`,
      fetch: (url, init) => {
        const request = new Request(url, init);
        for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
        return fetch(request);
      },
    });
  const fal = createFalClient({
    credentials: OPERATOR_KEY,
    // This SDK has no base URL: its middleware gives each request another one.
    requestMiddleware: async ({ url, ...request }) => ({
      ...request,
      url: url.replace("https://queue.fal.run", baseOf("fal")),
    }),
  });
  const openai = new OpenAI({ apiKey: OPERATOR_KEY, baseURL: `${baseOf("openai-videos")}/v1` });
  return [
    {
      name: "replicate",
      path: /predictions$/,
      repetitions: 5,
      submit: (prompt, webhook, headers) =>
        replicateWith(headers).predictions.create({
          model: "acme/fox",
          input: { prompt },
          webhook,
        }),
    },
    {
      name: "@fal-ai/client",
      path: /^\/fal-ai\/fox\/video\?fal_webhook=/,
      repetitions: 3,
      submit: (prompt, webhookUrl, headers) =>
        fal.queue.submit("fal-ai/fox/video", { input: { prompt }, webhookUrl, headers }),
    },
    {
      name: "openai (videos, which it sends as a form)",
      path: /videos$/,
      repetitions: 2,
      submit: (prompt, url, headers) =>
        openai.videos.create({ prompt }, { headers: { "Relay-Callback-Url": url, ...headers } }),
    },
    {
      name: "openai (images)",
      path: IMAGES_PATH,
      repetitions: 2,
      submit: (prompt, url, headers) =>
        openai.images.generate(
          { prompt, model: "fox-image" },
          { headers: { "Relay-Callback-Url": url, ...headers } },
        ),
    },
  ];
}

const SDKS = sdksAt((connection) => `${relay.url}/v1/submit/${connection}`);
const DIRECT_SDKS = sdksAt(() => direct.origin);

/** Submits a job whose answer gets lost. @returns what the SDK throws. */
function lost({ submit }: Sdk): Promise<unknown> {
  return submit(LOST, receiver.at("/lost"), {}).then(
    () => null,
    (error: unknown) => error,
  );
}

it.concurrent.each(SDKS)(
  "$name, with its default retries, submits a job once when the upstream accepts it and hangs up, and throws the 424 of the relay",
  async (sdk) => {
    const error = await lost(sdk);
    expect(field(error, "status") ?? field(error, "response", "status")).toBe(424);
    expect(upstream.countOf(sdk.path, LOST)).toBe(1);
  },
);

it.concurrent.each(DIRECT_SDKS)(
  "$name without the relay repeats the call for such a job $repetitions times, which the same count shows",
  async (sdk) => {
    await lost(sdk);
    expect(direct.countOf(sdk.path, LOST)).toBe(1 + sdk.repetitions);
  },
);

it.concurrent.each(SDKS)(
  "$name submits a job through the relay by another base URL and key, gets the upstream's own answer, and the callback brings the result",
  async ({ name, path, submit }) => {
    const callbackPath = `/${encodeURIComponent(name)}`;
    const url = receiver.at(callbackPath, { kind: "answer", status: 200 });
    const answer = JSON.stringify(await submit("a red fox", url, {}));
    expect(answer).toMatch(path === IMAGES_PATH ? SDK_JOB.output : SDK_JOB.id);
    await vi.waitUntil(() => receiver.postsAt(callbackPath).length > 0, CALLED_BACK_WITHIN_MS);
    const [callback] = receiver.postsAt(callbackPath);
    expect(JSON.parse(callback?.body ?? "")).toMatchObject({
      status: "completed",
      output: { urls: [SDK_JOB.output] },
    });
    expect(upstream.countOf(path, "a red fox")).toBe(1);
  },
);

it.concurrent.each(SDKS)(
  "$name can send an Idempotency-Key, under which an equal second call submits nothing",
  async ({ name, path, submit }) => {
    const url = receiver.at("/repeated", { kind: "answer", status: 200 });
    const call = () => submit("a grey fox", url, { "Idempotency-Key": `order of ${name}` });
    await call();
    // The answer to the first call is kept only until its task is settled; then the second one is refused.
    await call().catch((error: unknown) => expect(field(error, "status")).toBe(409));
    expect(upstream.countOf(path, "a grey fox")).toBe(1);
  },
);
