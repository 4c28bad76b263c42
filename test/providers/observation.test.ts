import { expect, it } from "vitest";
import { toNews, type Observation } from "../../src/providers/observation.ts";
import { completed, endedAs, failed } from "../../src/providers/shared/examples/meanings.ts";

const URLS = ["https://cdn.example.com/a.mp4"];
const SHOWN = { isGeneric: false, secrets: ["key-0001"] };
const AT = 1767225720000;
const REJECTED = { code: "SensitiveContent", text: "Rejected for key-0001." };

it.each<[string, Partial<Observation>, ReturnType<typeof toNews>]>([
  [
    "a success as completed, and leaves out metadata fields that are null or an empty text",
    {
      completedAt: AT,
      metadata: { seed: 0, ratio: "", duration: 5, resolution: null, generate_audio: false },
    },
    completed(URLS, { seed: 0, duration: 5, generate_audio: false }, AT),
  ],
  [
    "the completion time 1767225720000.45 ms as 1767225720000 ms",
    { completedAt: AT + 0.45 },
    completed(URLS, {}, AT),
  ],
  [
    'the ratio "1280:720" as ratio 16:9 and resolution 720p when the resolution is "auto"',
    { metadata: { ratio: "1280:720", resolution: "auto" } },
    completed(URLS, { ratio: "16:9", resolution: "720p" }),
  ],
  [
    'the resolution "720*1280" as ratio 9:16 and resolution 720p when the ratio is "adaptive"',
    { metadata: { ratio: "adaptive", resolution: "720*1280" } },
    completed(URLS, { ratio: "9:16", resolution: "720p" }),
  ],
  [
    'the resolution "768P" as "768p"',
    { metadata: { ratio: "16:9", resolution: "768P" } },
    completed(URLS, { ratio: "16:9", resolution: "768p" }),
  ],
  ["the completion time 0 as it is", { completedAt: 0 }, completed(URLS, {}, 0)],
  ["a negative completion time as absent", { completedAt: -1 }, completed(URLS)],
  ["the completion time NaN as absent", { completedAt: Number.NaN }, completed(URLS)],
  ["an infinite completion time as absent", { completedAt: Infinity }, completed(URLS)],
  ["a completion time in microseconds as absent", { completedAt: AT * 1000 }, completed(URLS)],
  ["a success without output as no_output", { urls: [] }, { status: "no_output" }],
  ["a queued job with URLs as queued", { state: "IN_QUEUE" }, { status: "queued" }],
  ["a running job with URLs as processing", { state: "dreaming" }, { status: "processing" }],
  ["an unknown state as no status (null)", { state: "paused" }, null],
  ["an absent state as no status (null)", { state: null }, null],
  ["a cancelled job with URLs as failed", { state: "canceled" }, endedAs("canceled", "canceled")],
  [
    "a failure as failed, with the text of the provider in which the API key is replaced",
    { state: "failed", error: REJECTED },
    failed("moderation", "Rejected for …."),
  ],
])(
  "toNews, which turns a provider's report on a job into a task status, reads %s",
  (_, fields, news) => {
    const plain = { jobId: "job-1", state: "succeeded", urls: URLS, metadata: {} };
    const observation = { ...plain, completedAt: null, error: null, ...fields };
    expect(toNews(observation, SHOWN)).toEqual(news);
  },
);
