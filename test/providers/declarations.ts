import type { JsonObject } from "../../src/core/json.ts";

/**
 * Declarations of upstreams for which the relay has no adapter, by the name of the connection, as docs/providers.md prints
 * them. `…` stands for the operator's own values.
 */
export const DECLARATIONS = {
  runpod: {
    provider: "generic",
    base_url: "https://api.runpod.ai/v2/YOUR_ENDPOINT",
    key: "…",
    auth: "Authorization: Bearer {key}",
    submit: { path: ["/run", "/runsync"], id: "/id", answer: "job-or-result" },
    hook: { field: "webhook" },
    poll: {
      path: "/status/{id}",
      id: "/id",
      state: "/status",
      outputs: [
        "/output/video_url",
        "/output/image_url",
        "/output/images/*/url",
        "/output/images/*/data",
      ],
      error: "/error",
      usage: { execution_ms: "/executionTime", delay_ms: "/delayTime" },
    },
    cancel: { path: "/cancel/{id}", state: "/status" },
    words: {
      IN_QUEUE: "queued",
      IN_PROGRESS: "processing",
      COMPLETED: "completed",
      FAILED: "failed",
      CANCELLED: "canceled",
      TIMED_OUT: "failed",
    },
  },
  runware: {
    provider: "generic",
    base_url: "https://api.runware.ai",
    key: "…",
    auth: "Authorization: Bearer {key}",
    submit: {
      path: "/v1",
      list: true,
      id: { request: "/taskUUID" },
      model: "/model",
      parameters: { duration: "/duration", seed: "/seed" },
    },
    hook: { field: "webhookURL" },
    poll: {
      path: "/v1",
      method: "POST",
      body: [{ taskType: "getResponse", taskUUID: "{id}" }],
      id: ["/data/*/taskUUID", "/errors/*/taskUUID"],
      state: ["/data/*/status", "/errors/*/status"],
      outputs: ["/data/*/videoURL", "/data/*/imageURL", "/data/*/audioURL"],
      error: { code: "/errors/*/code", message: "/errors/*/message" },
      usage: { cost: "/data/0/cost" },
      metadata: { seed: "/data/0/seed" },
    },
    words: { processing: "processing", success: "completed", error: "failed" },
  },
  runninghub: {
    provider: "generic",
    base_url: "https://www.runninghub.ai",
    key: "…",
    auth: "Authorization: Bearer {key}",
    submit: {
      path: [
        "/openapi/v2/run/ai-app/*",
        "/openapi/v2/run/workflow/*",
        "/openapi/v2/*/text-to-video",
        "/openapi/v2/*/image-to-video",
        "/openapi/v2/*/*/text-to-video",
        "/openapi/v2/*/*/image-to-video",
      ],
      id: "/taskId",
      parameters: { duration: "/duration", resolution: "/resolution", ratio: "/ratio" },
    },
    hook: { field: "webhookUrl", report: "/eventData", id: "/taskId" },
    poll: {
      path: "/openapi/v2/query",
      method: "POST",
      body: { taskId: "{id}" },
      id: "/taskId",
      state: "/status",
      outputs: ["/results/*/url"],
      error: { code: "/errorCode", message: "/errorMessage" },
    },
    words: { QUEUED: "queued", RUNNING: "processing", SUCCESS: "completed", FAILED: "failed" },
    link_life_h: 24,
  },
  together: {
    provider: "generic",
    base_url: "https://api.together.xyz",
    key: "…",
    auth: "Authorization: Bearer {key}",
    submit: {
      path: "/v2/videos",
      id: "/id",
      model: "/model",
      parameters: { duration: "/seconds", seed: "/seed" },
    },
    poll: {
      path: "/v2/videos/{id}",
      id: "/id",
      state: "/status",
      outputs: ["/outputs/video_url"],
      error: { code: "/error/code", message: "/error/message" },
      usage: { cost: "/outputs/cost" },
      metadata: { duration: "/seconds", resolution: "/size", ratio: "/size" },
      completed_at: "/completed_at",
    },
  },
  "sync-so": {
    provider: "generic",
    base_url: "https://api.sync.so",
    key: "…",
    webhook_secret: "…",
    auth: "x-api-key: {key}",
    submit: { path: "/v2/generate", id: "/id", model: "/model" },
    hook: {
      field: "webhookUrl",
      signature: {
        header: "Sync-Signature",
        timestamp_prefix: "t=",
        prefix: "v1=",
        recipe: "{timestamp}.{body}",
        encoding: "hex",
        tolerance_s: 300,
      },
    },
    poll: {
      path: "/v2/generate/{id}",
      id: "/id",
      state: "/status",
      outputs: ["/outputUrl"],
      error: { code: ["/errorCode", "/error_code"], message: "/error" },
      usage: { output_s: "/outputDuration" },
      metadata: { duration: "/outputDuration" },
    },
    words: { REJECTED: "failed" },
  },
} as const satisfies Readonly<Record<string, JsonObject>>;

/** Declarations of servers of one's own, as docs/providers.md prints them. */
export const OWN_DECLARATIONS = {
  comfyui: {
    provider: "generic",
    base_url: "http://127.0.0.1:8188",
    submit: { path: "/prompt", id: "/prompt_id" },
    poll: {
      path: "/history/{id}",
      state: "/{id}/status/status_str",
      otherwise: "processing",
      outputs: [
        {
          at: "/{id}/outputs/*/images/*",
          url: "/view?filename={filename}&subfolder={subfolder}&type={type}",
        },
      ],
    },
    words: { success: "completed", error: "failed" },
  },
  modal: {
    provider: "generic",
    base_url: "https://YOUR_WORKSPACE--video.modal.run",
    key: "…",
    auth: "Authorization: Bearer {key}",
    submit: { path: "/submit", id: "/call_id" },
    poll: {
      path: "/result/{id}",
      state: "http_status",
      outputs: ["/url"],
      error: "/detail",
    },
    words: { 200: "completed", 202: "processing", 410: "failed" },
    link_life_h: 24,
  },
} as const satisfies Readonly<Record<string, JsonObject>>;

export type DeclaredName = keyof typeof DECLARATIONS;

/** Returns the value of `CONNECTIONS` with one of the declarations, with these members in place of its own. */
export function connectionsWith(name: DeclaredName, members: JsonObject): string {
  return JSON.stringify({ [name]: { ...DECLARATIONS[name], ...members } });
}

export function isDeclaredName(name: string): name is DeclaredName {
  return Object.hasOwn(DECLARATIONS, name);
}
