/**
 * Id of a task in examples. This and the values below, such as a callback, are shared by the descriptions of several
 * routes.
 */

export const TASK_ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

const CALLBACK_URL = "https://client.example.com/hook?order=4711";

const STARTED_AT = 1_767_225_600;

const HEAD = { id: TASK_ID, model: "seedance-1-pro", created_at: STARTED_AT };

const ATTEMPT = {
  number: 1,
  series: 1,
  started_at: STARTED_AT + 61,
  late_ms: 0,
  after_ms: 4,
  duration_ms: 84,
  outcome: "delivered" as const,
  status_code: 204,
};

const SHARED = {
  account: "acme",
  metadata: { order: "4711" },
  credits: { amount: 12, state: "charged" as const },
};

export const COMPLETED_CALLBACK = {
  ...HEAD,
  status: "completed" as const,
  completed_at: STARTED_AT + 60,
  output: {
    urls: ["https://cdn.example.com/video.mp4"],
    metadata: { seed: 42, ratio: "16:9", duration: 5, resolution: "720p" },
  },
};

export const FAILED_CALLBACK = {
  ...HEAD,
  status: "failed" as const,
  error: { code: "upstream_error", message: "The prompt was refused." },
};

export const PROGRESS_CALLBACK = {
  id: TASK_ID,
  status: "processing" as const,
  model: HEAD.model,
  created_at: HEAD.created_at,
  progress: 40,
};

export const OPEN_TASK = {
  ...HEAD,
  status: "pending" as const,
  callback: { url: CALLBACK_URL, status: "waiting" as const, attempts: [] },
  ...SHARED,
  deadline_at: STARTED_AT + 86_400,
};

export const TASK_STATUS = { ...COMPLETED_CALLBACK, callback: { status: "delivered" as const } };

export const COMPLETED_TASK = {
  ...COMPLETED_CALLBACK,
  callback: {
    url: CALLBACK_URL,
    status: "delivered" as const,
    attempts: [ATTEMPT],
    delivered_at: STARTED_AT + 61,
  },
  ...SHARED,
  finished_at: STARTED_AT + 61,
};

export const CANCELED_TASK = {
  ...FAILED_CALLBACK,
  error: { code: "canceled", message: "The task was canceled." },
  callback: {
    url: CALLBACK_URL,
    status: "sending" as const,
    attempts: [],
    waits_for: "refund" as const,
  },
  ...SHARED,
  credits: { amount: 12, state: "refunding" as const },
  finished_at: STARTED_AT + 61,
  failure: { category: "canceled" as const, retryable: false },
  cancel: {
    state: "confirmed" as const,
    reason: "order" as const,
    requested_at: STARTED_AT + 60,
  },
};
