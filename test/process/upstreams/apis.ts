import { randomBytes } from "node:crypto";
import { Webhook } from "svix";
import {
  ends,
  FalKey,
  type Job,
  type JobState,
  named,
  nowS,
  ok,
  PARAMETERS,
  REASON,
  type UpstreamApi,
} from "./api.ts";
import { kling, minimax, vidu } from "./kling-minimax-vidu.ts";

const FAL_USER = "process-test-fal-user";
const FAL_ENDPOINT = "fal-ai/kling-video/v2/master/text-to-video";
const REPLICATE_SECRET = `whsec_${randomBytes(24).toString("base64")}`;

export const FAL_KEY = new FalKey();
/** https://www.volcengine.com/docs/82379/1520757 */
const ark: UpstreamApi = {
  provider: "ark",
  base: "/ark/api/v3",
  key: "process-test-ark-key",
  hookParameter: "callback_url",
  newId: (nth) => `cgt-20260101000000-${nth}`,
  hook: arkTask,
  pollPaths: [/^\/contents\/generations\/tasks\/([^/?]+)$/],
  answer: (job) => ok(arkTask(job, job.state)),
};

function arkTask({ id, url, seed }: Job, state: JobState) {
  const task = { id, model: "doubao-seedance-2-0-260128", created_at: nowS(), updated_at: nowS() };
  if (state === "failed") {
    const error = { code: "InternalServiceError", message: REASON };
    return { ...task, status: "failed", error };
  }
  const status = named(state, { queued: "queued", processing: "running", completed: "succeeded" });
  if (!ends(state)) return { ...task, status, error: null };
  const { aspect_ratio: ratio, duration, resolution } = PARAMETERS;
  const output = { seed, ratio, duration, resolution, framespersecond: 24, generate_audio: true };
  const content = state === "empty" ? {} : { video_url: url };
  return { ...task, status, error: null, content, ...output };
}

/** https://replicate.com/docs/reference/http */
const replicate: UpstreamApi = {
  provider: "replicate",
  base: "/replicate",
  key: "process-test-replicate-token",
  secrets: { webhook_secret: REPLICATE_SECRET },
  hookParameter: "webhook",
  newId: (nth) => `ufawqhfynnddngldkg${nth}`,
  hook: prediction,
  sign: (job, body) => {
    const id = `msg_${job.id}`;
    const timestamp = String(nowS());
    const at = new Date(Number(timestamp) * 1000);
    const signature = new Webhook(REPLICATE_SECRET).sign(id, at, body);
    return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  },
  pollPaths: [/^\/v1\/predictions\/([^/?]+)$/],
  answer: (job) => ok(prediction(job, job.state)),
};

function prediction({ id, url, seed }: Job, state: JobState) {
  const names = { queued: "starting", processing: "processing", failed: "failed" };
  return {
    id,
    model: "bytedance/seedance-1-pro",
    status: named(state, { ...names, completed: "succeeded" }),
    input: { ...PARAMETERS, seed },
    output: state === "completed" ? url : null,
    error: state === "failed" ? REASON : null,
    completed_at: ends(state) ? new Date().toISOString() : null,
  };
}

/** https://docs.fal.ai/model-apis/model-endpoints/queue */
const fal: UpstreamApi = {
  provider: "fal",
  base: "/fal",
  key: "process-test-fal-key",
  secrets: { user_id: FAL_USER },
  endpoint: () => FAL_ENDPOINT,
  hookParameter: "?fal_webhook",
  newId: (nth) => `764cabcf-b745-4b3e-ae38-${String(nth).padStart(12, "0")}`,
  isAuthorized: (authorization) => authorization === "Key process-test-fal-key",
  hook: ({ id, url, seed }, state) => {
    if (!ends(state)) return null;
    const request = { request_id: id, gateway_request_id: id };
    if (state === "failed") {
      const payload = { detail: [{ loc: ["body"], msg: REASON, type: "internal_server_error" }] };
      return { ...request, status: "ERROR", error: "Invalid status code: 500", payload };
    }
    return {
      ...request,
      status: "OK",
      payload: state === "empty" ? null : { video: { url }, seed },
    };
  },
  sign: (job, body) => FAL_KEY.sign(job.id, FAL_USER, body),
  // Requests are found under the app's path, not under the endpoint's.
  pollPaths: [/^\/fal-ai\/kling-video\/requests\/([^/?]+)(?:\/status)?$/],
  answer: ({ url, seed, state }, path) => {
    if (path.endsWith("/status")) {
      const names = { queued: "IN_QUEUE", processing: "IN_PROGRESS", failed: "COMPLETED" };
      return ok({ status: named(state, { ...names, completed: "COMPLETED" }) });
    }
    if (!ends(state)) return { status: 400, body: { detail: "Request is still in progress" } };
    if (state !== "failed") return ok(state === "empty" ? {} : { video: { url }, seed });
    const detail = [{ loc: ["body"], msg: REASON, type: "internal_server_error" }];
    return { status: 422, body: { detail } };
  },
};

/** The upstreams that these tests fake. */
export const APIS: readonly UpstreamApi[] = [ark, replicate, fal, kling, minimax, vidu];

export function apiOf(provider: string): UpstreamApi {
  const api = APIS.find((each) => each.provider === provider);
  if (api === undefined) throw new Error(`there is no provider ${provider}`);
  return api;
}
