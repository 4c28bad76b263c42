import { describe, expect, it } from "vitest";
import { gatewayOutputs, needsKey } from "../../src/providers/shared/gateway-links.ts";
import { toNews } from "../../src/providers/observation.ts";
import { completed } from "../../src/providers/shared/examples/meanings.ts";

const BASE = "https://gateway.example.com/api";
const ORIGIN = "https://gateway.example.com";
const KEYED = `${ORIGIN}/v1/videos/7/content`;
const outputsOf = (main: readonly unknown[], baseUrl: string | null = BASE, part?: unknown) =>
  gatewayOutputs({ main, part }, { id: "7", baseUrl });

describe("a link that opens only with the key of its gateway", () => {
  it("a link that opens only with the gateway's key is an output and is marked as such, even when the answer also has a picture that everybody can open", () => {
    const outputs = outputsOf([KEYED], BASE, { last_frame_url: "https://cdn.example.com/7.png" });
    const urls = [KEYED, "https://cdn.example.com/7.png"];
    const known = { keyedUrls: [KEYED], contentUrl: KEYED, areOpenUrlsPictures: true };
    expect(outputs).toEqual({ urls, ...known });
  });

  it.each([
    ["where outputs are documented", [KEYED, "https://cdn.example.com/7"], undefined],
    ["with the name of a video", [KEYED], { result: { video_link: "https://cdn.example.com/7" } }],
    ["with the extension of a video", [KEYED], ["https://cdn.example.com/7.mp4?a=1"]],
  ])(
    "a link that opens only with the gateway's key is left out when the answer also has the file as a link that everybody can open, %s",
    (_, main, part) => {
      const { urls, keyedUrls } = outputsOf(main, BASE, part);
      expect(urls).toEqual([expect.stringContaining("https://cdn.example.com/7")]);
      expect(keyedUrls).toEqual([]);
    },
  );

  it.each([
    ["a path on the gateway", "/v1/videos/7/content", KEYED],
    [
      "another path of this job",
      "/v1/tasks/7/artifacts/0/content",
      `${ORIGIN}/v1/tasks/7/artifacts/0/content`,
    ],
    [
      "this job's path at another host",
      "https://public.example.com/x/v1/videos/7/content",
      `${BASE}/v1/videos/7/content`,
    ],
    [
      "this job's path without encryption",
      "http://gateway.example.com/v1/videos/7/content?variant=video",
      `${BASE}/v1/videos/7/content?variant=video`,
    ],
  ])(
    "a link that opens only with the gateway's key is found in a gateway's answer when the answer has %s",
    (_, text, link) => {
      expect(outputsOf([text]).urls).toEqual([link]);
      expect(outputsOf([text]).keyedUrls).toEqual([link]);
    },
  );

  it.each([
    ["another job's file on another host", "https://other.example.com/v1/videos/8/content", BASE],
    ["the job's file, while the gateway's base URL is not known", KEYED, null],
    [
      "a file that opens only with Google's key",
      "https://generativelanguage.googleapis.com/v1beta/files/7",
      BASE,
    ],
  ])(
    "a link that opens only with a key is not an output when it leads to %s",
    (_, link, baseUrl) => {
      expect(outputsOf([link], baseUrl).urls).toEqual([]);
    },
  );

  it("a link to a path at which a gateway serves files only with its key is open for everybody when the link's query has a signature", () => {
    const link = `${KEYED}?signature=1`;
    expect(outputsOf([link, "/files/9.mp4", 7, null])).toMatchObject({
      urls: [link, `${ORIGIN}/files/9.mp4`],
      keyedUrls: [],
    });
  });

  it("when a gateway's answer has no link, the relay expects the file at the job's content path, which opens only with the gateway's key", () => {
    const contentUrl = `${BASE}/v1/videos/7/content`;
    expect(outputsOf([])).toEqual({ urls: [], keyedUrls: [], contentUrl });
  });

  it.each(["/v1/videos/7/content", "/v1/video/generations/7/content/", "/api/v1/tasks/7/content"])(
    "the relay knows by the path %s that a link opens only with the gateway's key",
    (path) => {
      expect(needsKey(new URL(path, BASE))).toBe(true);
    },
  );
});

describe("a link in place of the id of the remixed video", () => {
  const former = "https://cdn.example.com/former.mp4";
  const own = "https://cdn.example.com/own.mp4";
  const part = { remixed_from_video_id: former };

  it.each([
    ["is the output when the answer has no other link", [], part, [former]],
    ["is the output when the other link opens only with the key", [KEYED], part, [former]],
    ["is left out when the answer has a link where outputs are documented", [own], part, [own]],
    ["is left out when the answer has another video", [], { ...part, video: own }, [own]],
    [
      "is an output when the answer's other file is not a video",
      [],
      { ...part, sound: "https://cdn.example.com/s.mp3" },
      [former, "https://cdn.example.com/s.mp3"],
    ],
  ])(
    "when a gateway's answer has a link where the id of a remixed video belongs, this link %s",
    (_, main, members, urls) => {
      expect(outputsOf(main, BASE, members).urls).toEqual(urls);
    },
  );
});

describe("a report on a job with a link that opens only with the key", () => {
  const report = { jobId: "7", state: "completed", metadata: {}, completedAt: null, error: null };
  const keyed = { ...report, urls: [KEYED], keyedUrls: [KEYED] };
  const rules = { isGeneric: false, secrets: [] };

  it("a report whose link opens only with the gateway's key is a success with this link if the relay gives clients links of its own, and otherwise a success without output", () => {
    expect(toNews(keyed, { ...rules, areKeyedLinksServed: true })).toEqual(completed([KEYED]));
    expect(toNews(keyed, rules)).toEqual({ status: "no_output" });
  });

  it("when the relay gives clients no links of its own, a report keeps only those links that open without the gateway's key", () => {
    const open = "https://cdn.example.com/7.png";
    const both = { ...keyed, urls: [KEYED, open] };
    expect(toNews(both, { ...rules, areKeyedLinksServed: true })).toEqual(completed([KEYED, open]));
    expect(toNews(both, rules)).toEqual(completed([open]));
  });

  const unserved = (main: string, part: object) =>
    toNews({ ...report, ...outputsOf([main], BASE, part) }, rules);

  it("when the relay gives clients no links of its own, the outputs of an answer are its open links, without the one that needs the gateway's key", () => {
    const open = "https://cdn.example.com/7.mp3";
    expect(unserved(KEYED, { sound: open })).toEqual(completed([open]));
  });

  it.each([
    ["with the extension of a picture", { output: "https://cdn.example.com/7.png" }],
    ["with the name of a picture", { last_frame_url: "https://cdn.example.com/7" }],
  ])(
    "when no client can open the main link of a report, and its only other link is one %s, the report has no output",
    (_, part) => {
      expect(unserved(KEYED, part)).toEqual({ status: "no_output" });
    },
  );

  it("when no client can open the main link of a report, and this link's path does not say that it leads to a video, a picture in the report is the output", () => {
    const open = "https://cdn.example.com/7.png";
    const main = `${ORIGIN}/v1/tasks/7/artifacts/0/content`;
    expect(unserved(main, { output: open })).toEqual(completed([open]));
  });

  it("a report with a link that opens only with the gateway's key is no success until the relay knows that the link opens", () => {
    const asked = { ...keyed, contentUrl: KEYED };
    expect(toNews(asked, { ...rules, areKeyedLinksServed: true })).toEqual({ status: "no_output" });
  });
});
