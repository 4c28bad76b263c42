import { randomBytes } from "node:crypto";
import { Webhook } from "svix";

export type JobState = "processing" | "completed" | "failed";

export interface Job {
  readonly id: string;
  readonly hookUrl: string;
  readonly url: string;
  readonly seed: number;
  state: JobState;
}

/** The API of one provider according to its public documentation. */
export interface UpstreamApi {
  readonly provider: string;
  /** Path of the base URL on the fake server. */
  readonly base: string;
  /** Value of the `Authorization` header of a poll. */
  readonly authorization: string;
  /** Further settings of a connection. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly newId: (nth: number) => string;
  /** Returns the job in a state, in the form of hooks and of answers to polls. */
  readonly show: (job: Job, state: JobState) => object;
  /** Returns the signature headers of a hook; by default none. */
  readonly sign?: (job: Job, body: string) => Readonly<Record<string, string>>;
  /** Pattern of the path of a poll, with the job id as a group. */
  readonly pollPath: RegExp;
}

/** Failure message that every provider reports. */
const REASON = "The generation was stopped.";
/** Parameters of a job; each provider echoes some of them in its hooks. */
const PARAMETERS = { aspect_ratio: "16:9", duration: 5, resolution: "720p" };
const REPLICATE_SECRET = `whsec_${randomBytes(24).toString("base64")}`;

/** Returns the present time in Unix seconds. */
const nowS = () => Math.floor(Date.now() / 1000);

export function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => Reflect.get(Object(found), name), value);
}

/** https://www.volcengine.com/docs/82379/1520757; its hooks are not signed. */
const ark: UpstreamApi = {
  provider: "ark",
  base: "/ark/api/v3",
  authorization: "Bearer process-test-ark-key",
  newId: (nth) => `cgt-20260101000000-${nth}`,
  show: arkTask,
  pollPath: /^\/contents\/generations\/tasks\/([^/?]+)$/,
};

function arkTask({ id, url, seed }: Job, state: JobState) {
  const task = { id, model: "doubao-seedance-2-0-260128", created_at: nowS(), updated_at: nowS() };
  if (state === "failed") {
    const error = { code: "InternalServiceError", message: REASON };
    return { ...task, status: "failed", error };
  }
  if (state === "processing") return { ...task, status: "running", error: null };
  const { aspect_ratio: ratio, duration, resolution } = PARAMETERS;
  const output = { seed, ratio, duration, resolution, framespersecond: 24, generate_audio: true };
  return { ...task, status: "succeeded", error: null, content: { video_url: url }, ...output };
}

/** https://replicate.com/docs/reference/http; its hooks are signed with a secret of the account. */
const replicate: UpstreamApi = {
  provider: "replicate",
  base: "/replicate",
  authorization: "Bearer process-test-replicate-token",
  secrets: { webhook_secret: REPLICATE_SECRET },
  newId: (nth) => `ufawqhfynnddngldkg${nth}`,
  show: prediction,
  sign: (job, body) => {
    const [id, at] = [`msg_${job.id}`, new Date(nowS() * 1000)];
    const signature = new Webhook(REPLICATE_SECRET).sign(id, at, body);
    const timestamp = String(at.getTime() / 1000);
    return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  },
  pollPath: /^\/v1\/predictions\/([^/?]+)$/,
};

function prediction({ id, url, seed }: Job, state: JobState) {
  return {
    id,
    model: "bytedance/seedance-1-pro",
    status: state === "completed" ? "succeeded" : state,
    input: { ...PARAMETERS, seed },
    output: state === "completed" ? url : null,
    error: state === "failed" ? REASON : null,
    completed_at: state === "processing" ? null : new Date().toISOString(),
  };
}

/** The providers that these tests fake. */
export const APIS: readonly UpstreamApi[] = [ark, replicate];

export function apiOf(provider: string): UpstreamApi {
  const api = APIS.find((each) => each.provider === provider);
  if (api === undefined) throw new Error(`there is no provider ${provider}`);
  return api;
}
