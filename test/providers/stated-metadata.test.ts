import { expect, it } from "vitest";
import { kling } from "../../src/providers/kling/kling.ts";
import { newapi } from "../../src/providers/newapi/newapi.ts";
import type { Observation } from "../../src/providers/observation.ts";
import { openaiVideos } from "../../src/providers/openai-videos/openai-videos.ts";
import { firstStated, statedMetadata } from "../../src/providers/shared/stated-metadata.ts";
import { anAnswer } from "./answer.ts";

const NOTHING = {
  seed: null,
  ratio: null,
  duration: null,
  resolution: null,
  generate_audio: null,
  framespersecond: null,
};

it.each<[string, unknown, object]>([
  [
    "seed, duration and fps as texts",
    { seed: "7", duration: "5.041", fps: "24" },
    { seed: 7, duration: 5, framespersecond: 24 },
  ],
  [
    "a size in pixels as ratio and resolution",
    { size: "1280x720" },
    { ratio: "16:9", resolution: "720p" },
  ],
  ["width and height as a ratio alone", { width: 1248, height: 704 }, { ratio: "16:9" }],
  [
    "output_video_duration rather than duration",
    { duration: 15, output_video_duration: 10 },
    { duration: 10 },
  ],
  ["the member seconds as the duration", { seconds: "8" }, { duration: 8 }],
  [
    "nothing from the seed -1, the duration -1 and the fps 0",
    { seed: -1, duration: -1, fps: 0 },
    {},
  ],
  ["0 as a seed", { seed: 0 }, { seed: 0 }],
  ["nothing from a text in the place of an object", "5", {}],
])(
  "statedMetadata, which reads an output's metadata from a provider's answer, reads %s",
  (_what, place, found) => {
    expect(statedMetadata(place)).toEqual({ ...NOTHING, ...found });
  },
);

it("statedMetadata and firstStated, which read output metadata from several objects, take each field from the first object that states it", () => {
  const [made, asked] = [{ duration: 10 }, { duration: 4, seed: 7 }];
  expect(statedMetadata({ size: "720p" }, { ratio: "adaptive" }, { ratio: "9:16" })).toEqual({
    ...NOTHING,
    ratio: "9:16",
    resolution: "720p",
  });
  expect(statedMetadata(made, null, asked)).toEqual({ ...NOTHING, duration: 10, seed: 7 });
  expect(firstStated({ duration: 10, seed: null }, asked)).toEqual({
    ...NOTHING,
    duration: 10,
    seed: 7,
  });
});

const URL = "https://cdn.example.com/v.mp4";
const JOB = { id: "task_1", task_id: "task_1", status: "completed", seconds: "4", url: URL };

it.each([
  ["the metadata of the result", { metadata: { duration: 10 } }],
  ["an Ark task that the gateway passes on", { data: { id: "cgt-1", duration: 10 } }],
  [
    "an answer of Kling that the gateway passes on",
    { data: { data: { task_result: { videos: [{ duration: "10" }] } } } },
  ],
  [
    "a creation of Vidu that the gateway passes on",
    { data: { id: "914", duration: 4, creations: [{ duration: 10 }] } },
  ],
])(
  "a video of a new-api gateway gets the duration 10, although 4 seconds were asked for, when 10 is stated in %s",
  (_what, made) => {
    expect(durationOf(newapi, { code: "success", data: { ...JOB, ...made } })).toBe(10);
  },
);

it.each([
  ["the video", { video: { duration: 10 } }],
  ["the metadata", { metadata: { duration: 10 } }],
  ["the usage", { usage: { duration_seconds: "10" } }],
])(
  "a video of OpenAI's Videos API gets the duration 10, although 4 seconds were asked for, when 10 is stated in %s",
  (_what, made) => {
    expect(durationOf(openaiVideos, { object: "video", ...JOB, ...made })).toBe(10);
  },
);

it("the usage of a Kling job is the sum of its charges in units, without a rounding error, and leaves out charges in money", () => {
  const billing = [
    { charge_type: "unit", amount: "0.1" },
    { charge_type: "unit", amount: "0.2" },
    { charge_type: "balance", amount: "9" },
  ];
  const task = { id: "task_1", status: "succeeded", outputs: [], billing };
  expect(observed(kling, { code: 0, data: [task] })?.usage).toEqual({ final_unit_deduction: 0.3 });
});

type Adapter = typeof kling | typeof newapi | typeof openaiVideos;

function durationOf(adapter: Adapter, body: object): unknown {
  return observed(adapter, body)?.metadata.duration;
}

function observed({ polls }: Adapter, body: object): Observation | null {
  const job = { id: "task_1", endpoint: null };
  const reading = polls.read(anAnswer({ status: 200, body }), job, "https://gateway.example.com");
  return reading.kind === "observed" ? reading.observation : null;
}
