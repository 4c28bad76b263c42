const ID = "0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4";
export const CALLBACK_URL = "https://client.example.net/callbacks";
const OUTPUT = {
  urls: ["https://cdn.example.net/video.mp4"],
  metadata: {
    seed: 41485,
    ratio: "16:9",
    duration: 5,
    resolution: "720p",
    generate_audio: true,
    framespersecond: 24,
    model_version: "2.1",
  },
};
const CREATION = {
  model: "doubao-seedance-2.0",
  created_at: 1_792_497_600,
  callback_url: CALLBACK_URL,
  account: "acme",
};
/** Valid bodies of `POST /v1/events`. */
export const EVENTS = [
  { id: ID, status: "completed", ...CREATION, completed_at: 1_792_497_700, output: OUTPUT },
  { id: ID.toUpperCase(), status: "failed", error: { code: "moderation", message: "Refused." } },
  { id: ID, status: "processing", model: "m", error: null },
  { id: ID, status: "completed", output: { urls: OUTPUT.urls } },
];
/** Valid bodies of `POST /v1/tasks`. */
export const REGISTRATIONS = [
  { model: "m" },
  {
    id: ID,
    model: "doubao-seedance-2.0",
    callback_url: CALLBACK_URL,
    account: "acme",
    provider: "ark",
    parameters: { input: { seed: 5 } },
    metadata: { order: "7" },
    deadline_at: 1_792_597_600,
    credits: 40,
  },
];

/** Valid bodies of `POST /v1/tasks/{id}/upstream`. */
export const ATTACHMENTS = [{ provider: "fal", id: "job-1", endpoint: "fal-ai/kling/v2" }];
