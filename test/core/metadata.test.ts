import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { metadataOf } from "../../src/core/record/metadata.ts";

const submits: readonly (readonly [string, JsonObject, JsonObject])[] = [
  [
    "Ark: flat",
    {
      model: "doubao-seedance-1-0-pro",
      content: [{ type: "text", text: "a cat" }],
      ratio: "16:9",
      duration: 5,
      resolution: "720p",
      seed: 42,
      generate_audio: true,
      framespersecond: 24,
    },
    {
      seed: 42,
      ratio: "16:9",
      duration: 5,
      resolution: "720p",
      generate_audio: true,
      framespersecond: 24,
    },
  ],
  [
    "Replicate: under input",
    {
      version: "abc",
      input: { prompt: "a cat", aspect_ratio: "9:16", duration: 10, fps: 24, resolution: "1080p" },
    },
    { ratio: "9:16", duration: 10, resolution: "1080p", framespersecond: 24 },
  ],
  [
    "Kling: settings, and numbers as text",
    { settings: { aspect_ratio: "1:1", duration: "5", audio: "off" }, options: { seed: "0" } },
    { seed: 0, ratio: "1:1", duration: 5, generate_audio: false },
  ],
  [
    "Kling: flat, sound as a word",
    { model_name: "kling-v2-6", duration: "10", sound: "on" },
    { duration: 10, generate_audio: true },
  ],
  [
    "Luma: seconds with their unit",
    { duration: "5s", resolution: "4K", aspect_ratio: "21:9" },
    { ratio: "21:9", duration: 5, resolution: "4k" },
  ],
  ["seconds with more than tenths", { duration: "5.04s" }, { duration: 5 }],
  ["OpenAI's names", { seconds: "8" }, { duration: 8 }],
  ["truth as it is", { generate_audio: false }, { generate_audio: false }],
  ["under parameters", { parameters: { duration: 5, resolution: "480P" } }, at480p()],
];

describe("what submitted parameters say of the output", () => {
  it.each(submits)("%s", (_what, parameters, metadata) => {
    expect(metadataOf(parameters)).toStrictEqual(metadata);
  });

  it("is nothing without parameters", () => {
    const nothing = [metadataOf(null), metadataOf({}), metadataOf({ input: {} })];
    expect(nothing).toStrictEqual([{}, {}, {}]);
  });

  it("is first what stands outermost, and first the name of the wire contract", () => {
    const parameters = {
      input: { seed: 2, ratio: "4:3", aspect_ratio: "3:4" },
      settings: { seed: 3, duration: 3 },
      seed: 1,
    };
    expect(metadataOf(parameters)).toEqual({ seed: 1, ratio: "4:3", duration: 3 });
    const outer = { aspect_ratio: "1:1", input: { ratio: "4:3" } };
    expect(metadataOf(outer)).toEqual({ ratio: "1:1" });
  });

  it("is looked for further where a value says nothing", () => {
    const parameters = { ratio: "adaptive", aspect_ratio: "16:9", duration: -1, input: five() };
    expect(metadataOf(parameters)).toEqual({ ratio: "16:9", duration: 5 });
  });

  it("comes in the order of the wire contract", () => {
    const [, parameters] = submits[0] ?? [];
    const reversed = Object.fromEntries(Object.entries(parameters ?? {}).toReversed());
    expect(Object.keys(metadataOf(reversed))).toEqual([
      "seed",
      "ratio",
      "duration",
      "resolution",
      "generate_audio",
      "framespersecond",
    ]);
  });
});

describe("a submitted value says nothing", () => {
  it.each<[string, JsonObject]>([
    ["a choice left to the upstream", { ratio: "adaptive", duration: -1, seed: -1 }],
    ["the same as text", { duration: "-1", seed: "-1", resolution: "auto" }],
    ["words for numbers", { duration: "five", seed: "random", fps: "fast" }],
    ["truth for numbers", { duration: true, seed: false, framespersecond: true }],
    ["numbers for words", { ratio: 16, resolution: 720 }],
    ["numbers for truth", { generate_audio: 1, audio: 0 }],
    ["other words for truth", { sound: "true", audio: "yes", generate_audio: "" }],
    ["lists and objects", { seed: [1], duration: { value: 5 }, ratio: ["16:9"], input: [five()] }],
    ["null", { seed: null, duration: null, ratio: null, input: null }],
    ["nothing of a length", { duration: 0, seconds: "0", fps: 0 }],
    ["pixels for a resolution", { resolution: "1280x720", ratio: "1280x720" }],
    ["text before it", { ratio: "x16:9", resolution: " 720p", duration: "x5" }],
    ["text after it", { ratio: "16:9x", resolution: "720px", duration: "5sx" }],
    ["text around it", { ratio: " 16:9", resolution: "720p ", duration: "5 s", seed: "0x10" }],
    ["a number beyond all numbers", { seed: "9".repeat(400), duration: Number("1e999") }],
    ["a number that is not exact", { seed: "12345678901234567890" }],
  ])("when it is %s", (_what, parameters) => {
    expect(metadataOf(parameters)).toStrictEqual({});
  });
});

function five() {
  return { duration: 5 };
}

function at480p() {
  return { duration: 5, resolution: "480p" };
}
