import { expect, it } from "vitest";
import { isHttpUrl, parseUrl, withoutSlash } from "../../src/core/url.ts";

it.each([
  ["https://cdn.example.com/video.mp4", true],
  ["http://cdn.example.com/video.mp4", true],
  ["ftp://cdn.example.com/video.mp4", false],
  ["cdn.example.com/video.mp4", false],
])(
  "isHttpUrl, which tells whether a text is an http(s) URL, returns for the text %s: %s",
  (text, isOne) => {
    expect(isHttpUrl(text)).toBe(isOne);
  },
);

it("parseUrl accepts a host name of 512 characters, and refuses one of 513 without parsing it", () => {
  const texts = [512, 513].map((chars) => `https://${"a".repeat(chars)}/`);
  expect(texts.map((text) => parseUrl(text)?.href ?? null)).toEqual([texts[0], null]);
});

it.each(["", "/", "//"])(
  "the relay removes the slashes '%s' from the end of a base URL, and leaves the double slash within its path",
  (slashes) => {
    const base = "https://relay.example.com//v1";
    expect(withoutSlash(base + slashes)).toBe(base);
  },
);
