import { expect, it } from "vitest";
import {
  ratioIn,
  ratioOf,
  resolutionIn,
  resolutionOf,
} from "../../src/core/output-metadata/pixels.ts";

it.each([
  [1280, 720, "16:9", "720p"],
  [720, 1280, "9:16", "720p"],
  [1366, 768, "16:9", "768p"],
  [1080, 1920, "9:16", "1080p"],
  [960, 960, "1:1", "960p"],
  [1104, 832, "4:3", "832p"],
  [832, 1104, "3:4", "832p"],
  [1584, 672, "21:9", "672p"],
  [1536, 1024, "3:2", "1024p"],
  [1024, 1280, "4:5", "1024p"],
  [1000, 900, "1:1", "900p"],
  [1, 1, "1:1", "1p"],
])(
  "the ratio of a video is the nearest common one, and its resolution the smaller side: the width %j and the height %j give %j and %j",
  (width, height, ...expected) => {
    expect([ratioOf(width, height), resolutionOf(width, height)]).toEqual(expected);
  },
);

it.each([
  [null, 720],
  [1280, null],
  [0, 720],
  [1280, 0],
  [-1280, 720],
])(
  "a video whose width or height is unknown or not positive has neither a ratio nor a resolution: here with the width %j and the height %j",
  (width, height) => {
    expect([ratioOf(width, height), resolutionOf(width, height)]).toEqual([null, null]);
  },
);

it.each([
  ["1280:720", "16:9", "720p"],
  ["720x1280", "9:16", "720p"],
  ["1920X1080", "16:9", "1080p"],
  ["960*960", "1:1", "960p"],
  ["16:9", "16:9", null],
  ["720P", null, "720p"],
  ["4K", null, "4k"],
])(
  "ratio and resolution of a video are read from a parameter's text that states them or a size in pixels: from %j the ratio %j and the resolution %j",
  (text, ...expected) => {
    expect([ratioIn(text), resolutionIn(text)]).toEqual(expected);
  },
);

it.each(["adaptive", "auto", "12x12", "000x000", "1280x720x24", "x1280x720", ""])(
  "from the text %j of a parameter the relay reads neither a video's ratio nor its resolution",
  (text) => {
    expect([ratioIn(text), resolutionIn(text)]).toEqual([null, null]);
  },
);
