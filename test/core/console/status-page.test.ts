import { describe, expect, it } from "vitest";
import { failureText } from "../../../src/console/status/failure-texts.ts";
import { namesOf, resultFiles } from "../../../src/console/status/result-files.ts";
import { FAILURE_CATEGORIES } from "../../../src/core/record/upstream.ts";

const NOW = Date.UTC(2026, 10, 20);
const SOON_S = NOW / 1000 + 3_600;
const AROUND: Parameters<typeof resultFiles>[1] = {
  outputsOrigin: "https://files.example.com",
  pageOrigin: "https://relay.example.com",
  linkEnd: null,
  now: NOW,
};
const LINK = "https://relay.example.com/outputs/0edf0c76-03df-4fc8-941b-1cc4f8b7c465/1/token.mp4";
const AT_PRESENT = LINK.replace("relay.", "files.");

/** Returns the only file of a result: that behind a link, with the state of the relay's copy. */
function fileOf(url: string, copy?: object, around: Partial<typeof AROUND> = {}) {
  const output = { urls: [url], metadata: {} };
  const outputs = copy && { outputs: [{ kept: false, ...copy }] };
  return resultFiles({ output, ...outputs }, { ...AROUND, ...around })[0];
}

/** Returns what the page knows when links work until `at`, or at least until then. */
function linkEnd(at: number, isLeast: boolean): Pick<typeof AROUND, "linkEnd"> {
  return { linkEnd: { at, isLeast } };
}

describe("a file of a result on the page of a status link", () => {
  it("a file of which the relay has a copy is shown from the relay's present address, by the type of its bytes, and saved from there", () => {
    const copy = { kept: true, bytes: 9, content_type: "audio/wav", expires_at: SOON_S };
    expect(fileOf(LINK, copy)).toEqual({
      kind: "audio",
      place: "here",
      type: "audio/wav",
      bytes: 9,
      mediaUrl: AT_PRESENT,
      url: `${AT_PRESENT}?download`,
      endsAt: SOON_S * 1000,
    });
  });

  it.each([
    ["is being copied", "can be had until its copy is deleted", {}, "copying", SOON_S * 1000],
    ["could not be copied", "has no known end", { reason: "unreachable" }, "unsure", null],
  ])(
    "a file that %s is saved by the relay's link, %s, and is not shown, because the link leads to another host",
    (_state, _end, copy, place, endsAt) => {
      const url = `${AT_PRESENT}?download`;
      const expected = { place, kind: "video", mediaUrl: null, url, endsAt };
      expect(fileOf(LINK, { ...copy, expires_at: SOON_S })).toMatchObject(expected);
    },
  );

  it("a file that the relay passes on is shown by the extension of its link", () => {
    const copy = { reason: "streamed", expires_at: SOON_S };
    const shown = { place: "here", kind: "video", mediaUrl: AT_PRESENT };
    expect(fileOf(LINK, copy)).toMatchObject(shown);
    const unnamed = LINK.replace(".mp4", ".bin");
    expect(fileOf(unnamed, copy)).toMatchObject({ place: "here", kind: "file", type: null });
  });

  it.each([
    [
      "whose link has expired",
      { kept: true, content_type: "video/mp4", expires_at: SOON_S - 3_600 },
    ],
    ["that was deleted", { reason: "deleted", expires_at: SOON_S }],
  ])("a file %s is gone, and has no link", (_, copy) => {
    expect(fileOf(LINK, copy)).toMatchObject({ place: "gone", mediaUrl: null, url: null });
  });

  it.each([
    ["https://cdn.example.net/a.webp?sig=1", "image"],
    ["https://cdn.example.net/download?file=a.MP3", "audio"],
    ["https://cdn.example.net/a.svg", "file"],
    ["https://cdn.example.net/a.heic", "file"],
    ["https://cdn.example.net/result", "file"],
  ])("a file at the upstream's own link %s is opened there, and is of the kind %s", (url, kind) => {
    for (const copy of [undefined, { reason: "own_link" }]) {
      expect(fileOf(url, copy)).toMatchObject({ place: "elsewhere", kind, url, endsAt: null });
    }
  });

  it("a file at an upstream's own link can be had until the time at which the upstream's documentation says that the link ends, and is then gone", () => {
    const url = "https://cdn.example.net/a.mp4";
    const endsAt = NOW + 60_000;
    const there = { place: "elsewhere", url, endsAt };
    expect(fileOf(url, undefined, linkEnd(endsAt, false))).toMatchObject(there);
    expect(fileOf(url, undefined, linkEnd(endsAt, true))).toMatchObject(there);
    const gone = { place: "gone", url: null, endsAt: null };
    expect(fileOf(url, undefined, linkEnd(NOW, false))).toMatchObject(gone);
    const perhaps = { place: "elsewhere", url, endsAt: null };
    expect(fileOf(url, undefined, linkEnd(NOW, true))).toMatchObject(perhaps);
  });

  it.each([
    "javascript:alert(1)//a.mp4",
    "data:image/png;base64,AAAA",
    "ftp://example.com/a.png",
    "no link",
  ])(
    "the output %s is no link that a browser may open, so that it is neither shown nor opened",
    (url) => {
      expect(fileOf(url)).toMatchObject({ mediaUrl: null, url: null });
    },
  );

  it("a file at an http link is opened from a page at https, but not shown there, and is shown on a page at http", () => {
    const url = "http://cdn.example.net/a.mp4";
    expect(fileOf(url)).toMatchObject({ mediaUrl: null, url });
    const local = { outputsOrigin: null, pageOrigin: "http://localhost:8787" };
    expect(fileOf(url, undefined, local)).toMatchObject({ mediaUrl: url, url });
  });

  it("a file at a link with a user name is not shown, because browsers load no picture from such a link", () => {
    expect(fileOf("https://me@cdn.example.net/a.png")).toMatchObject({ mediaUrl: null });
  });
});

it.each([
  [["a.mp4"], 1, "video"],
  [["a.png", "b.jpg"], 2, "2 pictures"],
  [["a.wav", "b.mp3"], 24, "24 audio files"],
  [["a.mp4", "b.png"], 2, "2 files"],
  [["a.glb"], 1, "file"],
])("readers call the files %j, %i in all, by the name %s", (names, count, name) => {
  const urls = names.map((each) => `https://cdn.example.net/${each}`);
  const files = resultFiles({ output: { urls, metadata: {} } }, AROUND);
  expect(namesOf(files, count)).toBe(name);
});

describe("why a task has failed, in words for a customer", () => {
  const CODES = [
    "upstream_error",
    "upstream_funds",
    "upstream_key",
    "upstream_timeout",
    "submit_unknown",
    "queue_timeout",
    "canceled",
    "output_needs_store",
    "output_not_a_file",
    "constructor",
    "E_1042",
  ];

  it.each(CODES)(
    "the words for the code %s name no upstream, callback or queue, and repeat neither the code nor the message",
    (code) => {
      for (const category of [...FAILURE_CATEGORIES, undefined]) {
        const failure = category && { category, retryable: false };
        const { reason } = failureText({ code, message: "CUDA out of memory" }, failure);
        expect(reason).toMatch(/^(?:It|The|Something) .*\.$/);
        expect(reason).not.toMatch(/upstream|callback|queue|relay|CUDA|_/i);
      }
    },
  );

  it("the service's own message is shown where it helps to ask better: for a refused content or input", () => {
    const error = { code: "upstream_error", message: "The picture is too small." };
    const explained = FAILURE_CATEGORIES.filter((category) => {
      const failure = { category, retryable: false };
      return failureText(error, failure).explanation === error.message;
    });
    expect(explained).toEqual(["moderation", "invalid_input"]);
  });

  it("an event that states a category as its code is worded as a failure of this category", () => {
    const error = { code: "moderation", message: "Refused." };
    expect(failureText(error, undefined)).toEqual({
      ...failureText(error, { category: "moderation", retryable: false }),
      explanation: "Refused.",
    });
  });

  it("a new try is advised only where the failure says that it may succeed", () => {
    const error = { code: "upstream_error", message: "" };
    const advised = [undefined, false, true].map(
      (retryable) =>
        failureText(
          error,
          retryable === undefined ? undefined : { category: "provider", retryable },
        ).mayRetry,
    );
    expect(advised).toEqual([false, false, true]);
  });
});
