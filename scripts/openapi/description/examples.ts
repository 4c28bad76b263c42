/** Example values, such as a task and its callback, that the descriptions of several routes share. */

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

export const REGISTRATION = {
  model: HEAD.model,
  callback_url: CALLBACK_URL,
  provider: "fal",
  account: "acme",
  credits: 12,
  metadata: { order: "4711" },
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

export const OPEN_TASK = {
  ...HEAD,
  status: "pending" as const,
  callback: { url: CALLBACK_URL, status: "waiting" as const, attempts: [] },
  ...SHARED,
  deadline_at: STARTED_AT + 86_400,
};

export const REGISTERED_TASK = {
  ...OPEN_TASK,
  provider: "fal",
  hook_url: `https://relay.example.com/hooks/fal/${TASK_ID}/3q2-7w`,
  hook_parameter: "fal_webhook",
  status_url: `https://relay.example.com/v1/tasks/${TASK_ID}?token=st_${STARTED_AT}_${STARTED_AT + 172_800}_${STARTED_AT}012_3q2-7w`,
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

/** A completed task with a price by usage that was not stated. */
export const PRICED_TASK = {
  ...COMPLETED_TASK,
  credits: { amount: 200, final: 200, state: "charged" as const, basis: "hold" as const },
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

export const CANCELING_TASK = {
  ...OPEN_TASK,
  cancel: {
    state: "refused" as const,
    reason: "order" as const,
    requested_at: STARTED_AT + 60,
    answered_at: STARTED_AT + 60,
    status_code: 409,
  },
};

export const LISTED_TASK = {
  ...HEAD,
  status: "completed" as const,
  completed_at: STARTED_AT + 60,
  finished_at: STARTED_AT + 61,
  settled_at: STARTED_AT + 61,
  account: "acme",
  callback: {
    status: "delivered" as const,
    host: "client.example.com",
    attempts: 1,
    last_outcome: "delivered",
    last_status_code: 204,
  },
};

export const ACCOUNT = { id: "acme", balance: 988, created_at: STARTED_AT };
export const SECRET = "whsec_c2FtcGxlLW9ubHktc2lnbmluZy1zZWNyZXQ=";
export const PUBLIC_KEY = "whpk_11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
export const SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

export const SENT_REQUEST = {
  method: "POST" as const,
  url: CALLBACK_URL,
  headers: {
    "Content-Type": "application/json",
    "User-Agent": "TaskRelay/1 (+https://relay.example.com)",
    "X-Event": "task.completed",
    "X-Task-Id": TASK_ID,
    "X-Timestamp": "1767225661",
    "X-Attempt": "1",
    "webhook-id": `msg_${TASK_ID}`,
    "webhook-timestamp": "1767225661",
    "webhook-signature": "v1,hQh5CvFwyWiSxpdvnXVkOVRLQDqrZmhUcSmCqJ0aJxM=",
  },
  body: JSON.stringify(COMPLETED_CALLBACK),
};
