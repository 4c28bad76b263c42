import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import { parseJson } from "../../../src/core/json.ts";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";
import { FalKey } from "../upstreams/fal-key.ts";

/** Words of a prompt that decide what becomes of its job; without one it completes, and its hook says so. */
export const WORDS = {
  /** The job completes, and no hook comes. */
  unhooked: "unhooked",
  /** The job fails, and its hook says so. */
  failing: "failing",
  /** The job never ends. */
  endless: "endless",
  /** The upstream refuses the job. */
  refused: "refused",
  /** The upstream refuses the first call with 429. */
  busy: "busy",
} as const;

/** The key of both upstreams. */
export const VIDEO_KEY = "process-test-video-key";
const REASON = "The video shows what it must not show.";
const CDN = "https://cdn.example.com";
const FalBody = z.strictObject({ prompt: z.string() });
const ReplicateBody = z.strictObject({
  input: z.strictObject({ prompt: z.string() }),
  webhook: z.url(),
  webhook_events_filter: z.tuple([z.literal("completed")]),
});

interface Job {
  readonly id: string;
  readonly prompt: string;
  readonly hookUrl: string;
}

/** Answer to a request: its status and its body. */
type Answer = readonly [status: number, body: object];

const NOT_FOUND: Answer = [404, {}];

/** The part of an upstream's API that the video model of the AI SDK and the relay use. */
interface VideoApi {
  readonly host: string;
  readonly authorization: string;
  readonly submits: RegExp;
  /** Reads a submission; null when it is not as the upstream documents it. */
  readonly read: (body: unknown, query: URLSearchParams) => Omit<Job, "id"> | null;
  readonly accepted: (job: Job) => object;
  /** Pattern of the paths at which a job is read, with its id. */
  readonly polls: RegExp;
  readonly polled: (job: Job, path: string) => Answer;
  readonly hook: (job: Job) => object;
  readonly signed: (job: Job, body: string) => Readonly<Record<string, string>>;
}

const falKey = new FalKey();
const falFault = { detail: [{ loc: ["body"], msg: REASON, type: "content_policy_violation" }] };
const falUrl = ({ id }: Job) => `https://queue.fal.run/fal-ai/luma-dream-machine/requests/${id}`;

/** https://docs.fal.ai/model-apis/model-endpoints/queue and …/webhooks */
const fal: VideoApi = {
  host: "queue.fal.run",
  authorization: `Key ${VIDEO_KEY}`,
  submits: /^\/fal-ai\/luma-dream-machine\/ray-2$/,
  read: (body, query) => {
    const { data } = FalBody.safeParse(body);
    const hookUrl = query.get("fal_webhook");
    return data === undefined || hookUrl === null ? null : { ...data, hookUrl };
  },
  accepted: (job) => ({ request_id: job.id, response_url: falUrl(job), status: "IN_QUEUE" }),
  polls: /^\/fal-ai\/luma-dream-machine\/requests\/([^/]+)(?:\/status)?$/,
  polled: (job, path) => {
    const state = stateOf(job);
    if (path.endsWith("/status")) {
      const status = state === "processing" ? "IN_PROGRESS" : "COMPLETED";
      return [200, { request_id: job.id, status }];
    }
    if (state === "processing") return [400, { detail: "Request is still in progress" }];
    return state === "failed" ? [422, falFault] : [200, { video: { url: videoOf(job) } }];
  },
  hook: (job) => {
    const payload = stateOf(job) === "failed" ? falFault : { video: { url: videoOf(job) } };
    return { request_id: job.id, status: stateOf(job) === "failed" ? "ERROR" : "OK", payload };
  },
  signed: ({ id }, body) => falKey.sign(id, "process-test-fal-user", body),
};

/** https://replicate.com/docs/reference/http */
const replicate: VideoApi = {
  host: "api.replicate.com",
  authorization: `Bearer ${VIDEO_KEY}`,
  submits: /^\/v1\/models\/acme\/fox\/predictions$/,
  read: (body) => {
    const { data } = ReplicateBody.safeParse(body);
    return data === undefined ? null : { prompt: data.input.prompt, hookUrl: data.webhook };
  },
  accepted: (job) => ({ ...predictionOf(job), status: "starting", output: null, error: null }),
  polls: /^\/v1\/predictions\/([^/]+)$/,
  polled: (job) => [200, predictionOf(job)],
  hook: predictionOf,
  signed: () => ({}),
};

function predictionOf(job: Job) {
  const state = stateOf(job);
  return {
    id: job.id,
    model: "acme/fox",
    input: { prompt: job.prompt },
    status: state === "completed" ? "succeeded" : state,
    output: state === "completed" ? videoOf(job) : null,
    error: state === "failed" ? REASON : null,
    urls: { get: `https://api.replicate.com/v1/predictions/${job.id}` },
  };
}

const APIS = { fal, replicate };
const apis = Object.entries(APIS);

function stateOf({ prompt }: Job): "processing" | "completed" | "failed" {
  if (prompt.includes(WORDS.endless)) return "processing";
  return prompt.includes(WORDS.failing) ? "failed" : "completed";
}

function videoOf({ id }: Job): string {
  return `${CDN}/${id}.mp4`;
}

/** Text of which the video of a prompt consists. */
export function videoText(prompt: string): string {
  return `the video of ${prompt}`;
}

/**
 * fal and Replicate on one loopback port, with the files of their videos. They refuse a path, a key or a body that is not
 * as documented. Their jobs end at once, and hooks follow the answer to the submission.
 */
export class VideoUpstream extends LoopbackServer {
  readonly #jobs: Job[] = [];
  readonly #refusals: string[] = [];

  private constructor() {
    super((request, response) => void this.#handle(request, response));
  }

  static async start(): Promise<VideoUpstream> {
    return new VideoUpstream().listen();
  }

  /**
   * Variables of a relay with the connections `fal` and `replicate`, and with `fal-videos`, whose keys for signatures of
   * hooks are published here. The signatures prove nothing to the relay, which knows neither the secret of Replicate
   * nor the user id of fal: it polls a job whose hook says that it has ended.
   */
  get vars(): Readonly<Record<string, string>> {
    const [falBase, replicateBase] = [`${this.origin}/fal`, `${this.origin}/replicate`];
    const jwks_url = `${this.origin}/jwks.json`;
    const videos = { provider: "fal", key: VIDEO_KEY, base_url: falBase, jwks_url };
    return {
      FAL_KEY: VIDEO_KEY,
      FAL_BASE_URL: falBase,
      REPLICATE_API_TOKEN: VIDEO_KEY,
      REPLICATE_BASE_URL: replicateBase,
      CONNECTIONS: JSON.stringify({ "fal-videos": videos }),
    };
  }

  /** Origins by the hosts for which this server stands. */
  get hosts(): Readonly<Record<string, string>> {
    const named = apis.map(([name, { host }]) => [host, `${this.origin}/${name}`]);
    return { ...Object.fromEntries(named), [new URL(CDN).host]: this.origin };
  }

  /** Sends requests for the hosts of the upstreams here. */
  readonly fetch: typeof fetch = (input, init) => {
    const { host, pathname, search } = new URL(input instanceof Request ? input.url : input);
    const origin = this.hosts[host];
    return fetch(origin === undefined ? input : origin + pathname + search, init);
  };

  /** Downloads a video, as the AI SDK does. */
  readonly download = async ({ url }: { readonly url: URL }) => {
    const response = await this.fetch(url);
    return { data: await response.bytes(), mediaType: undefined };
  };

  /** Returns the number of jobs of a prompt. */
  started(prompt: string): number {
    return this.#jobs.filter((job) => job.prompt === prompt).length;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.origin);
    const body = (await bodyOf(request)) ?? "";
    const filmed = this.#jobs.find(({ id }) => url.pathname === `/${id}.mp4`);
    if (filmed !== undefined) {
      response.writeHead(200, { "Content-Type": "video/mp4" }).end(videoText(filmed.prompt));
      return;
    }
    const [status, json] = this.#answer(request, url, parseJson(body));
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(json));
  }

  #answer({ method, headers }: IncomingMessage, url: URL, body: unknown): Answer {
    if (url.pathname === "/jwks.json") return [200, { keys: [falKey.jwk] }];
    const [, name = "", path = ""] = /^\/(\w+)(\/.*)$/.exec(url.pathname) ?? [];
    const api = apis.find(([each]) => each === name)?.[1];
    if (api === undefined) return NOT_FOUND;
    if (headers.authorization !== api.authorization) return [401, {}];
    if (method === "POST" && api.submits.test(path)) {
      return this.#submit(api, body, url.searchParams);
    }
    const job = this.#jobs.find(({ id }) => id === api.polls.exec(path)?.[1]);
    return method === "GET" && job !== undefined ? api.polled(job, path) : NOT_FOUND;
  }

  #submit(api: VideoApi, body: unknown, query: URLSearchParams): Answer {
    const call = api.read(body, query);
    if (call === null || call.prompt.includes(WORDS.refused)) return [422, { detail: REASON }];
    if (call.prompt.includes(WORDS.busy) && !this.#refusals.includes(call.prompt)) {
      this.#refusals.push(call.prompt);
      return [429, { detail: "Too many requests." }];
    }
    const job = { ...call, id: `job-${this.#jobs.length + 1}` };
    this.#jobs.push(job);
    const isSilent = [WORDS.unhooked, WORDS.endless].some((word) => job.prompt.includes(word));
    if (!isSilent) setImmediate(() => void this.#hook(api, job));
    return [200, api.accepted(job)];
  }

  async #hook(api: VideoApi, job: Job): Promise<void> {
    const body = JSON.stringify(api.hook(job));
    const headers = { "Content-Type": "application/json", ...api.signed(job, body) };
    await fetch(job.hookUrl, { method: "POST", headers, body });
  }
}
