import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import { metadataOf } from "../../src/core/output-metadata/metadata.ts";

const submits: readonly (readonly [string, JsonObject, JsonObject])[] = [
  [
    "in the form of Ark, at the top level",
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
    "in the form of Replicate, under input",
    {
      version: "abc",
      input: { prompt: "a cat", aspect_ratio: "9:16", duration: 10, fps: 24, resolution: "1080p" },
    },
    { ratio: "9:16", duration: 10, resolution: "1080p", framespersecond: 24 },
  ],
  [
    "in the form of Kling, under settings and with numbers as text",
    { settings: { aspect_ratio: "1:1", duration: "5", audio: "off" }, options: { seed: "0" } },
    { seed: 0, ratio: "1:1", duration: 5, generate_audio: false },
  ],
  [
    "with a seed of 64 bits, whose digits stay",
    { seed: "18446744073709551615", duration: 5 },
    { seed: "18446744073709551615", duration: 5 },
  ],
  [
    "in the form of Kling, at the top level and with sound as a word",
    { model_name: "kling-v2-6", duration: "10", sound: "on" },
    { duration: 10, generate_audio: true },
  ],
  [
    "in the form of Luma, with a unit after the seconds",
    { duration: "5s", resolution: "4K", aspect_ratio: "21:9" },
    { ratio: "21:9", duration: 5, resolution: "4k" },
  ],
  [
    "in the form of Runway, with pixels as the ratio",
    { ratio: "1280:720", duration: 5 },
    { ratio: "16:9", duration: 5, resolution: "720p" },
  ],
  [
    "in the form of OpenAI, with pixels as the size",
    { size: "720x1280", seconds: "8" },
    { ratio: "9:16", duration: 8, resolution: "720p" },
  ],
  [
    "in the form of DashScope, with the ratio adaptive and pixels as the resolution",
    { parameters: { ratio: "adaptive", resolution: "1280*720" } },
    { ratio: "16:9", resolution: "720p" },
  ],
  [
    "with pixels as the aspect ratio",
    { aspect_ratio: "1280x720" },
    { ratio: "16:9", resolution: "720p" },
  ],
  ["with a duration in hundredths of a second", { duration: "5.04s" }, { duration: 5 }],
  ["under the name that OpenAI uses (seconds)", { seconds: "8" }, { duration: 8 }],
  ["that are booleans (generate_audio)", { generate_audio: false }, { generate_audio: false }],
  [
    "nested in a member named parameters",
    { parameters: { duration: 5, resolution: "480P" } },
    at480p(),
  ],
];

describe("output metadata from submitted parameters", () => {
  it.each(submits)(
    "output metadata (seed, ratio, duration …) is read from submitted parameters %s",
    (_what, parameters, metadata) => {
      expect(metadataOf(parameters)).toStrictEqual(metadata);
    },
  );

  it("output metadata is empty when no parameters were submitted", () => {
    const nothing = [metadataOf(null), metadataOf({}), metadataOf({ input: {} })];
    expect(nothing).toStrictEqual([{}, {}, {}]);
  });

  it("output metadata is read from parameters at the top level rather than nested ones, and from the documented name (ratio) rather than others (aspect_ratio)", () => {
    const parameters = {
      input: { seed: 2, ratio: "4:3", aspect_ratio: "3:4" },
      settings: { seed: 3, duration: 3 },
      seed: 1,
    };
    expect(metadataOf(parameters)).toEqual({ seed: 1, ratio: "4:3", duration: 3 });
    const outer = { aspect_ratio: "1:1", input: { ratio: "4:3" } };
    expect(metadataOf(outer)).toEqual({ ratio: "1:1" });
  });

  it("output metadata is taken from another parameter with the same meaning when the first has no usable value", () => {
    const parameters = { ratio: "adaptive", aspect_ratio: "16:9", duration: -1, input: five() };
    expect(metadataOf(parameters)).toEqual({ ratio: "16:9", duration: 5 });
  });

  it("output metadata has its fields in the documented order", () => {
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

describe("submitted values that give no output metadata", () => {
  it.each<[string, JsonObject]>([
    ["a choice left to the upstream (adaptive, -1)", { ratio: "adaptive", duration: -1, seed: -1 }],
    [
      'a choice left to the upstream, as text (auto, "-1")',
      { duration: "-1", seed: "-1", resolution: "auto" },
    ],
    ["a word in place of a number", { duration: "five", seed: "random", fps: "fast" }],
    ["a boolean in place of a number", { duration: true, seed: false, framespersecond: true }],
    ["a number in place of a word", { ratio: 16, resolution: 720 }],
    ["a number in place of a boolean", { generate_audio: 1, audio: 0 }],
    ["an unknown word in place of a boolean", { sound: "true", audio: "yes", generate_audio: "" }],
    ["a list or object", { seed: [1], duration: { value: 5 }, ratio: ["16:9"], input: [five()] }],
    ["null", { seed: null, duration: null, ratio: null, input: null }],
    ["a length of zero", { duration: 0, seconds: "0", fps: 0 }],
    ['preceded by other text ("x16:9")', { ratio: "x16:9", resolution: " 720p", duration: "x5" }],
    ['followed by other text ("16:9x")', { ratio: "16:9x", resolution: "720px", duration: "5sx" }],
    [
      'written with spaces or in hexadecimal ("5 s", "0x10")',
      { ratio: " 16:9", resolution: "720p ", duration: "5 s", seed: "0x10" },
    ],
    ["a number that is infinite", { duration: Number("1e999") }],
    [
      "an integer with more digits than a JavaScript number can hold, in another parameter than the seed",
      { duration: "12345678901234567890" },
    ],
  ])("output metadata ignores a submitted value that is %s", (_what, parameters) => {
    expect(metadataOf(parameters)).toStrictEqual({});
  });
});

function five() {
  return { duration: 5 };
}

function at480p() {
  return { duration: 5, resolution: "480p" };
}
