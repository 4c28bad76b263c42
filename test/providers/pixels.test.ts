import { describe, expect, it } from "vitest";
import { ratioOf, resolutionOf } from "../../src/providers/pixels.ts";

describe("the size of a video in pixels", () => {
  it.each([
    [1280, 720, "16:9", "720p"],
    [720, 1280, "9:16", "720p"],
    [1366, 768, "16:9", "768p"],
    [1080, 1920, "9:16", "1080p"],
    [960, 960, "1:1", "960p"],
    [1104, 832, "4:3", "832p"],
    [832, 1104, "3:4", "832p"],
    [1584, 672, "21:9", "672p"],
    [1000, 900, "1:1", "900p"],
  ])("%d × %d is %s and %s", (width, height, ratio, resolution) => {
    expect(ratioOf(width, height)).toBe(ratio);
    expect(resolutionOf(width, height)).toBe(resolution);
  });

  it.each([
    [null, 720],
    [1280, null],
    [0, 720],
    [1280, 0],
    [-1280, 720],
  ])("%j × %j tells nothing", (width, height) => {
    expect(ratioOf(width, height)).toBeNull();
    expect(resolutionOf(width, height)).toBeNull();
  });
});
