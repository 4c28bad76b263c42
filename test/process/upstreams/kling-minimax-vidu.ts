import {
  ends,
  isKlingToken,
  type Job,
  type JobState,
  named,
  ok,
  REASON,
  type UpstreamApi,
  viduSignature,
} from "./api.ts";

const VIDU_KEY = "process-test-vidu-key";
const [KLING_ACCESS, KLING_SECRET] = ["process-test-access", "process-test-secret"];

/** The classic API: https://app.klingai.com/global/dev/document-api */
export const kling: UpstreamApi = {
  provider: "kling",
  base: "/kling",
  key: `${KLING_ACCESS}:${KLING_SECRET}`,
  endpoint: () => "videos/text2video",
  hookParameter: "callback_url",
  idParameter: "external_task_id",
  newId: (nth) => String(867_283_741_000_000_000n + BigInt(nth)),
  isAuthorized: (given) => isKlingToken(given, KLING_ACCESS, KLING_SECRET),
  hook: klingTask,
  pollPaths: [/^\/v1\/videos\/text2video\/([^/?]+)$/],
  answer: (job) => ok({ code: 0, message: "SUCCEED", data: klingTask(job, job.state) }),
};

function klingTask({ id, taskId, url }: Job, state: JobState) {
  const names = { queued: "submitted", processing: "processing", failed: "failed" };
  const videos = [{ id: "v1", url, duration: "5.041" }];
  return {
    task_id: id,
    task_status: named(state, { ...names, completed: "succeed" }),
    task_status_msg: state === "failed" ? REASON : "",
    task_info: { external_task_id: taskId },
    created_at: Date.now(),
    updated_at: Date.now(),
    ...(ends(state) &&
      state !== "failed" && { task_result: { videos: state === "empty" ? [] : videos } }),
  };
}

/** v1, or v2 when the hook must carry the output: https://platform.minimax.io/docs */
export const minimax: UpstreamApi = {
  provider: "minimax",
  base: "/minimax",
  key: "process-test-minimax-key",
  endpoint: (isKeyed) => (isKeyed ? null : "v2"),
  hookParameter: "callback_url",
  newId: (nth) => String(115_334_141_000_000_000n + BigInt(nth)),
  hook: minimaxTask,
  pollPaths: [
    /^\/v1\/query\/video_generation\?task_id=([^&]+)$/,
    /^\/v1\/files\/retrieve\?file_id=file-([^&]+)$/,
  ],
  answer: (job, path) => {
    const base_resp = { status_code: 0, status_msg: "success" };
    if (!path.startsWith("/v1/files/")) return ok(minimaxTask(job, job.state));
    return ok({ file: { file_id: `file-${job.id}`, download_url: job.url }, base_resp });
  },
};

function minimaxTask({ id, url, endpoint }: Job, state: JobState) {
  if (endpoint === "v2") {
    const names = { queued: "queued", processing: "running", failed: "failed" };
    const status = named(state, { ...names, completed: "succeeded" });
    const error = state === "failed" ? { code: "2056", message: REASON } : undefined;
    const content = state === "completed" ? { url } : undefined;
    return { task: { id, status, content, error, ratio: "16:9", duration: 5, resolution: "720P" } };
  }
  const names = { queued: "Queueing", processing: "Processing", failed: "Fail" };
  const failure = { status_code: 1000, status_msg: REASON };
  return {
    task_id: id,
    status: named(state, { ...names, completed: "Success" }),
    file_id: state === "completed" ? `file-${id}` : "",
    ...(state === "completed" && { video_width: 1280, video_height: 720 }),
    base_resp: state === "failed" ? failure : { status_code: 0, status_msg: "success" },
  };
}

/** https://platform.vidu.com/docs */
export const vidu: UpstreamApi = {
  provider: "vidu",
  base: "/vidu/ent/v2",
  key: VIDU_KEY,
  hookParameter: "callback_url",
  idParameter: "payload",
  newId: (nth) => String(854_332_142_000_000_000n + BigInt(nth)),
  isAuthorized: (authorization) => authorization === `Token ${VIDU_KEY}`,
  hook: viduTask,
  sign: ({ hookUrl }) => viduSignature(hookUrl, VIDU_KEY),
  pollPaths: [/^\/tasks\/([^/?]+)\/creations$/],
  answer: (job) => ok(viduTask(job, job.state)),
};

function viduTask({ id, taskId, url }: Job, state: JobState) {
  const names = { queued: "queueing", processing: "processing", failed: "failed" };
  return {
    id,
    state: named(state, { ...names, completed: "success" }),
    err_code: state === "failed" ? "GenerateFailed" : "",
    payload: taskId,
    creations: state === "completed" ? [{ id: "1", url, cover_url: `${url}.jpg` }] : [],
  };
}
