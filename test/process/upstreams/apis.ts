import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { Webhook } from "svix";

/** State of a job; `empty` is a success without output. */
export type JobState = "queued" | "processing" | "completed" | "failed" | "empty";

export interface Job {
  readonly id: string;
  readonly hookUrl: string;
  readonly url: string;
  readonly seed: number;
  state: JobState;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** One provider's API according to its public documentation. */
export interface UpstreamApi {
  readonly provider: string;
  /** Path of the base URL on the fake server. */
  readonly base: string;
  /** Value of the `Authorization` header of a poll. */
  readonly authorization: string;
  /** Further settings of a connection. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Endpoint with which a job is attached; by default none. */
  readonly endpoint?: string;
  readonly newId: (nth: number) => string;
  /** Returns the body of a hook; null when the provider sends none in this state. */
  readonly hook: (job: Job, state: JobState) => object | null;
  /** Returns the signature headers of a hook; by default none. */
  readonly sign?: (job: Job, body: string) => Readonly<Record<string, string>>;
  /** Captures the job id in the path of a poll. */
  readonly pollPath: RegExp;
  readonly answer: (job: Job, path: string) => ApiAnswer;
}

/** The failure message of every provider. */
export const REASON = "The generation was stopped.";
/** Parameters of a registration; each provider echoes some of them in its hooks. */
export const PARAMETERS = { aspect_ratio: "16:9", duration: 5, resolution: "720p" };
const FAL_USER = "process-test-fal-user";
const REPLICATE_SECRET = `whsec_${randomBytes(24).toString("base64")}`;

/** Unix seconds. */
const nowS = () => Math.floor(Date.now() / 1000);
const ok = (body: unknown): ApiAnswer => ({ status: 200, body });

export function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => Reflect.get(Object(found), name), value);
}

function isEnd(state: JobState): boolean {
  return state === "completed" || state === "failed" || state === "empty";
}

/** A signing key of fal. */
export class FalKey {
  readonly #pair = generateKeyPairSync("ed25519");

  get jwk(): object {
    return this.#pair.publicKey.export({ format: "jwk" });
  }

  /** Returns the headers of a hook (https://docs.fal.ai/model-apis/model-endpoints/webhooks). */
  sign(requestId: string, userId: string, body: string): Readonly<Record<string, string>> {
    const timestamp = String(nowS());
    const digest = createHash("sha256").update(body).digest("hex");
    const message = Buffer.from([requestId, userId, timestamp, digest].join("\n"));
    return {
      "X-Fal-Webhook-Request-Id": requestId,
      "X-Fal-Webhook-User-Id": userId,
      "X-Fal-Webhook-Timestamp": timestamp,
      "X-Fal-Webhook-Signature": sign(null, message, this.#pair.privateKey).toString("hex"),
    };
  }
}

export const FAL_KEY = new FalKey();

/** https://www.volcengine.com/docs/82379/1520757; its hooks are not signed. */
const ark: UpstreamApi = {
  provider: "ark",
  base: "/ark/api/v3",
  authorization: "Bearer process-test-ark-key",
  newId: (nth) => `cgt-20260101000000-${nth}`,
  hook: arkTask,
  pollPath: /^\/contents\/generations\/tasks\/([^/?]+)$/,
  answer: (job) => ok(arkTask(job, job.state)),
};

function arkTask({ id, url, seed }: Job, state: JobState) {
  const task = { id, model: "doubao-seedance-2-0-260128", created_at: nowS(), updated_at: nowS() };
  if (state === "failed") {
    const error = { code: "InternalServiceError", message: REASON };
    return { ...task, status: "failed", error };
  }
  if (!isEnd(state)) {
    return { ...task, status: state === "queued" ? "queued" : "running", error: null };
  }
  const { aspect_ratio: ratio, duration, resolution } = PARAMETERS;
  const output = { seed, ratio, duration, resolution, framespersecond: 24, generate_audio: true };
  const content = state === "empty" ? {} : { video_url: url };
  return { ...task, status: "succeeded", error: null, content, ...output };
}

/** https://replicate.com/docs/reference/http; its hooks are signed with a secret of the account. */
const replicate: UpstreamApi = {
  provider: "replicate",
  base: "/replicate",
  authorization: "Bearer process-test-replicate-token",
  secrets: { webhook_secret: REPLICATE_SECRET },
  newId: (nth) => `ufawqhfynnddngldkg${nth}`,
  hook: prediction,
  sign: (job, body) => {
    const [id, at] = [`msg_${job.id}`, new Date(nowS() * 1000)];
    const signature = new Webhook(REPLICATE_SECRET).sign(id, at, body);
    const timestamp = String(at.getTime() / 1000);
    return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  },
  pollPath: /^\/v1\/predictions\/([^/?]+)$/,
  answer: (job) => ok(prediction(job, job.state)),
};

function prediction({ id, url, seed }: Job, state: JobState) {
  const names = { queued: "starting", processing: "processing", failed: "failed" };
  return {
    id,
    model: "bytedance/seedance-1-pro",
    status: { ...names, completed: "succeeded", empty: "succeeded" }[state],
    input: { ...PARAMETERS, seed },
    output: state === "completed" ? url : null,
    error: state === "failed" ? REASON : null,
    completed_at: isEnd(state) ? new Date().toISOString() : null,
  };
}

const FAL_FAILURE = { detail: [{ loc: ["body"], msg: REASON, type: "internal_server_error" }] };

/** https://docs.fal.ai/model-apis/model-endpoints/queue; its hooks are signed with a published key. */
const fal: UpstreamApi = {
  provider: "fal",
  base: "/fal",
  authorization: "Key process-test-fal-key",
  secrets: { user_id: FAL_USER },
  endpoint: "fal-ai/kling-video/v2/master/text-to-video",
  newId: (nth) => `764cabcf-b745-4b3e-ae38-${String(nth).padStart(12, "0")}`,
  hook: ({ id, url, seed }, state) => {
    if (!isEnd(state)) return null;
    const request = { request_id: id, gateway_request_id: id };
    const failure = { status: "ERROR", error: "Invalid status code: 500", payload: FAL_FAILURE };
    if (state === "failed") return { ...request, ...failure };
    return {
      ...request,
      status: "OK",
      payload: state === "empty" ? null : { video: { url }, seed },
    };
  },
  sign: (job, body) => FAL_KEY.sign(job.id, FAL_USER, body),
  // Requests are found under the app's path, not under the endpoint's.
  pollPath: /^\/fal-ai\/kling-video\/requests\/([^/?]+)(?:\/status)?$/,
  answer: ({ url, seed, state }, path) => {
    if (path.endsWith("/status")) {
      const names: Partial<Record<JobState, string>> = {
        queued: "IN_QUEUE",
        processing: "IN_PROGRESS",
      };
      return ok({ status: names[state] ?? "COMPLETED" });
    }
    if (!isEnd(state)) return { status: 400, body: { detail: "Request is still in progress" } };
    if (state === "failed") return { status: 422, body: FAL_FAILURE };
    return ok(state === "empty" ? {} : { video: { url }, seed });
  },
};

/** One provider of each kind: without a signature, signed with a secret, signed with a published key. */
export const APIS: readonly UpstreamApi[] = [ark, replicate, fal];

export function apiOf(provider: string): UpstreamApi {
  const api = APIS.find((each) => each.provider === provider);
  if (api === undefined) throw new Error(`there is no provider ${provider}`);
  return api;
}
