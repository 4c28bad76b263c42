import { describe, expect, it } from "vitest";
import { keyedLinks, needsKey, openLinks } from "../../src/providers/shared/gateway-links.ts";
import { toNews } from "../../src/providers/observation.ts";
import { completed } from "../../src/providers/shared/examples/meanings.ts";

const BASE = "https://gateway.example.com/api";
const KEYED = "https://gateway.example.com/v1/videos/7/content";

describe("a link that opens only with the key of its gateway", () => {
  it("is told apart from links that open without the key, by path and query", () => {
    const values = [KEYED, "/v1/videos/8/content", `${KEYED}?signature=1`, "/files/9.mp4", 7, null];
    expect(keyedLinks(values, BASE)).toEqual([
      KEYED,
      "https://gateway.example.com/v1/videos/8/content",
    ]);
    expect(openLinks(values, BASE)).toEqual([
      `${KEYED}?signature=1`,
      "https://gateway.example.com/files/9.mp4",
    ]);
  });

  it.each([
    ["another host", "https://other.example.com/v1/videos/7/content", BASE],
    ["another port", "https://gateway.example.com:8443/v1/videos/7/content", BASE],
    ["the host without encryption", "http://gateway.example.com/v1/videos/7/content", BASE],
    ["the host, when the base URL is not known", KEYED, null],
  ])(
    "is not used when it leads to %s, because the key must not be sent there",
    (_, link, baseUrl) => {
      expect(keyedLinks([link], baseUrl)).toEqual([]);
      expect(openLinks([link], baseUrl)).toEqual([]);
    },
  );

  it.each(["/v1/videos/7/content", "/v1/video/generations/7/content/", "/api/v1/tasks/7/content"])(
    "is recognised by its path %s",
    (path) => {
      expect(needsKey(new URL(path, BASE))).toBe(true);
    },
  );
});

describe("a report on a job with a link that opens only with the key", () => {
  const report = { jobId: "7", state: "completed", metadata: {}, completedAt: null, error: null };
  const keyed = { ...report, urls: [], keyedUrls: [KEYED] };
  const rules = { isGeneric: false, secrets: [] };

  it("is a success when the relay gives clients links of its own, and otherwise a success without output", () => {
    expect(toNews(keyed, { ...rules, areKeyedLinksServed: true })).toEqual(completed([KEYED]));
    expect(toNews(keyed, rules)).toEqual({ status: "no_output" });
  });

  it("is read without this link when another one opens without the key", () => {
    const open = ["https://cdn.example.com/7.mp4"];
    const both = { ...keyed, urls: open };
    expect(toNews(both, { ...rules, areKeyedLinksServed: true })).toEqual(completed(open));
  });
});
