import { afterEach, expect, it, vi } from "vitest";
import { callWith, refusal } from "../worker/client.ts";
import { DAY_MS, pass, realMs, until, useClock } from "../worker/clock.ts";
import { answering, type Site } from "../worker/outside.ts";
import {
  anUpstream,
  bytesOf,
  completedWith,
  copy,
  received,
  sending,
  SOURCE,
  streaming,
  VIDEO_BYTES,
} from "./copied.ts";
import { aKeyedTask, GATEWAY, KEY, KEYED, openRaw, WITH_BUCKET, WITHOUT_BUCKET } from "./keyed.ts";
import { bytesIn, linkOf, open, openWith } from "./linked.ts";

useClock();

const LENGTH = VIDEO_BYTES.length;
const UNAVAILABLE = { status: 503, code: "unavailable" };

/** Reads the problem `output_gone` and its reason. */
async function goneBecause(response: Response): Promise<unknown> {
  const { code, reason }: { code?: unknown; reason?: unknown } = await response.json();
  expect({ status: response.status, code }).toEqual({ status: 410, code: "output_gone" });
  return reason;
}

/** Answers like a server of files that takes ranges. */
const withRanges: Site = ({ headers }) => {
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers["range"] ?? "") ?? [];
  if (first === undefined)
    return new Response(VIDEO_BYTES, { headers: { "Content-Length": `${LENGTH}` } });
  const [from, to] = [Number(first), last === "" ? LENGTH - 1 : Math.min(Number(last), LENGTH - 1)];
  if (from >= LENGTH) return new Response(null, { status: 416 });
  const part = VIDEO_BYTES.slice(from, to + 1);
  const range = `bytes ${from}-${to}/${LENGTH}`;
  const answer = { "Content-Range": range, "Content-Length": `${part.length}` };
  return new Response(part, { status: 206, headers: answer });
};

it("while an output is not copied yet, the relay's link redirects to the upstream's own link, and no cache may store the redirect", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  const response = await open(await linkOf(id));
  expect(response.status).toBe(302);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    location: SOURCE,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "access-control-allow-origin": "*",
  });
  expect((await open(await linkOf(id), {}, "HEAD")).status).toBe(302);
});

it("when the relay could not copy an output, its link redirects to the upstream's own link, and is answered with 410 and the reason once the upstream's link has expired", async () => {
  anUpstream(sending(VIDEO_BYTES, { "Content-Length": "20971521" }));
  const id = await completedWith([SOURCE]);
  await copy(id);
  const link = await linkOf(id);
  expect((await open(link)).status).toBe(302);
  pass(DAY_MS - 1);
  expect((await open(link)).status).toBe(302);
  pass(1);
  expect(await goneBecause(await open(link))).toBe("too_large");
});

it.each([
  ["by a relay without a bucket", WITHOUT_BUCKET],
  ["by a relay with a bucket while the output is not copied yet", WITH_BUCKET],
])(
  "an output that opens only with the upstream's key is passed on to the client %s, with the headers that a copy would have",
  async (_, bindings) => {
    const { id, link, upstream } = await aKeyedTask(sending(VIDEO_BYTES), bindings);
    const response = await openWith(bindings, link);
    expect(response.status).toBe(200);
    expect(await bytesIn(response)).toEqual(VIDEO_BYTES);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "video/mp4",
      "content-length": String(LENGTH),
      "content-disposition": `inline; filename="video-${id.slice(0, 8)}-1.mp4"`,
      "content-security-policy": expect.stringContaining("sandbox"),
      "cross-origin-resource-policy": "cross-origin",
      "access-control-allow-origin": "*",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    expect(upstream.sentTo(KEYED)).toHaveLength(1);
    expect(upstream.sentTo(KEYED)[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`);
  },
);

it.each([
  ["with Content-Length", { "Content-Length": "3000000" }],
  ["without Content-Length", {}],
])(
  "an output of 3 MB that the upstream sends %s reaches the client through the relay with its bytes unchanged",
  async (_, headers) => {
    const bytes = Uint8Array.from({ length: 3_000_000 }, (__, index) => (index / 1_000) % 251);
    const { link } = await aKeyedTask(() => new Response(bytes, { headers }));
    const passedOn = await bytesIn(await openWith(WITHOUT_BUCKET, link));
    expect(Buffer.compare(passedOn, bytes)).toBe(0);
  },
);

it("in a relay without a bucket, a task shows an output that needs a key as passed on and not copied, and an output that needs none with the upstream's own link", async () => {
  const { id } = await aKeyedTask(sending(VIDEO_BYTES));
  const task = await (await callWith(WITHOUT_BUCKET, `/v1/tasks/${id}`)).json();
  expect(task).toMatchObject({
    outputs: [{ kept: false, reason: "streamed" }],
    source_urls: [KEYED],
  });
  await expect(aKeyedTask(sending(VIDEO_BYTES), WITHOUT_BUCKET, SOURCE)).resolves.toMatchObject({
    link: new URL(SOURCE).pathname,
  });
});

it("when the relay passes on an output, it sends the gateway's key to the gateway, but not to the host to which the gateway redirects", async () => {
  const { link, upstream } = await aKeyedTask(
    answering(null, 302, { Location: "https://media.example.net/a.mp4" }),
  );
  upstream.on("https://media.example.net/", received(sending(VIDEO_BYTES)));
  expect(await bytesIn(await openWith(WITHOUT_BUCKET, link))).toEqual(VIDEO_BYTES);
  const [sent] = upstream.sentTo("https://media.example.net/");
  expect(sent).toBeDefined();
  expect(Object.keys(sent?.headers ?? {})).not.toContain("authorization");
  expect(upstream.sentTo(GATEWAY)[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`);
});

it.each([
  ["https://localhost/"],
  ["http://127.0.0.1:8080/"],
  ["http://169.254.169.254/latest/meta-data/"],
  ["https://relay.example.com/v1/tasks"],
])(
  "when the upstream's own link to an output redirects to %s, the relay answers its link with 410 and sends no request there",
  async (location) => {
    const { link, upstream } = await aKeyedTask(answering(null, 302, { Location: location }));
    upstream.on(location, sending(VIDEO_BYTES));
    expect(await goneBecause(await openWith(WITHOUT_BUCKET, link))).toBe("blocked");
    expect(upstream.sentTo(location)).toEqual([]);
  },
);

it("the relay's link redirects to an output on this machine only with ALLOW_LOCAL_CALLBACKS; without it, the relay answers 410", async () => {
  const local = "http://127.0.0.1:8080/video.mp4";
  const isLocalAllowed = { ...WITH_BUCKET, ALLOW_LOCAL_CALLBACKS: "true" };
  const { link } = await aKeyedTask(sending(VIDEO_BYTES), isLocalAllowed, local);
  const allowed = await openWith(isLocalAllowed, link);
  expect([allowed.status, allowed.headers.get("Location")]).toEqual([302, local]);
  const refused = await openWith(WITH_BUCKET, link);
  expect(refused.headers.get("Location")).toBeNull();
  expect(await goneBecause(refused)).toBe("blocked");
});

it.each([
  ["bytes=0-", 0, LENGTH],
  ["bytes=0-9", 0, 10],
  ["bytes=100-199", 100, 100],
  ["bytes=1000-", 1_000, LENGTH - 1_000],
])(
  "when the relay passes on an output, a request for the range %s makes it ask the upstream for this range, and the answer has the media type of the whole output",
  async (range, offset, length) => {
    const { link, upstream } = await aKeyedTask(withRanges);
    const response = await openWith(WITHOUT_BUCKET, link, { Range: range });
    expect(response.status).toBe(206);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "video/mp4",
      "content-range": `bytes ${offset}-${offset + length - 1}/${LENGTH}`,
      "content-length": String(length),
      "accept-ranges": "bytes",
    });
    expect(await bytesIn(response)).toEqual(VIDEO_BYTES.subarray(offset, offset + length));
    const asked = () => upstream.sentTo(KEYED).map(({ headers }) => headers["range"]);
    expect(asked()).toEqual(range === "bytes=0-" ? [range] : ["bytes=0-63", range]);
    expect((await openWith(WITHOUT_BUCKET, link, { Range: "bytes=5-9" })).status).toBe(206);
    expect(asked().at(-1)).toBe("bytes=5-9");
    expect(asked()).toHaveLength(range === "bytes=0-" ? 2 : 3);
  },
);

it("a request for an output that the relay passes on gets the upstream's 416 when its Range begins beyond the end, and the whole output when the request has If-Range", async () => {
  const { link } = await aKeyedTask(withRanges);
  const behind = await openWith(WITHOUT_BUCKET, link, { Range: `bytes=${LENGTH}-` });
  expect(behind.status).toBe(416);
  const etag = { Range: "bytes=0-9", "If-Range": '"abc"' };
  expect((await openWith(WITHOUT_BUCKET, link, etag)).status).toBe(200);
});

it("a request for a range of an output that the relay passes on gets the whole output when the upstream ignores the range, and 503 when the upstream sends another range", async () => {
  const { link, upstream } = await aKeyedTask(sending(VIDEO_BYTES));
  const whole = await openWith(WITHOUT_BUCKET, link, { Range: "bytes=100-199" });
  expect([whole.status, await bytesIn(whole)]).toEqual([200, VIDEO_BYTES]);
  const other = { "Content-Range": `bytes 0-99/${LENGTH}` };
  const part = () => new Response(VIDEO_BYTES.slice(0, 100), { status: 206, headers: other });
  upstream.on(GATEWAY, received(part));
  const wrong = await openWith(WITHOUT_BUCKET, link, { Range: "bytes=100-199" });
  expect(await refusal(wrong)).toEqual(UNAVAILABLE);
  expect(await refusal(await openWith(WITHOUT_BUCKET, link))).toEqual(UNAVAILABLE);
});

it("HEAD of an output that the relay passes on has the headers of GET, and makes the relay read only the output's first bytes from the upstream", async () => {
  let isCanceled = false;
  const endless: Site = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(VIDEO_BYTES),
        cancel: () => {
          isCanceled = true;
        },
      }),
    );
  const { link } = await aKeyedTask(endless);
  const response = await openWith(WITHOUT_BUCKET, link, {}, "HEAD");
  expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "video/mp4"]);
  await until(() => isCanceled);
});

it.each([
  ["an HTML page", "<!doctype html><script>alert(1)</script>"],
  ["an SVG", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
])(
  "%s that an upstream sends as a video is passed on as a download and not shown inline",
  async (_, text) => {
    const { link } = await aKeyedTask(sending(bytesOf(text), { "Content-Type": "video/mp4" }));
    const { headers } = await openWith(WITHOUT_BUCKET, link);
    expect(headers.get("Content-Type")).toBe("application/octet-stream");
    expect(headers.get("Content-Disposition")).toMatch(/^attachment;/);
  },
);

it.each([
  ["sends no bytes", sending(new Uint8Array())],
  ["sends no bytes and no length", streaming()],
  ["answers 204", () => new Response(null, { status: 204 })],
  ["answers 202", answering({ status: "processing" }, 202)],
  ["answers a part that was not asked for", answering(null, 206)],
  ["answers 401", answering(null, 401)],
  ["answers 500", answering(null, 500)],
  ["does not answer", () => Promise.reject(new Error("lost"))],
  ["breaks off at once", () => new Response(broken())],
  ["redirects again and again", answering(null, 302, { Location: KEYED })],
] as const)(
  "when the upstream of an output %s, the relay's link to the output is answered with 503",
  async (_, site) => {
    const { link } = await aKeyedTask(site);
    const response = await openWith(WITHOUT_BUCKET, link);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
    expect(await refusal(response)).toEqual(UNAVAILABLE);
  },
);

it.each([404, 410])(
  "when the upstream of an output answers %i, the relay's link to the output is answered with 410",
  async (status) => {
    const { link } = await aKeyedTask(answering(null, status));
    expect(await goneBecause(await openWith(WITHOUT_BUCKET, link))).toBe("refused");
  },
);

it("when the upstream has sent no byte of an output for 30 seconds, the relay ends the request to it and answers 503", async () => {
  let isAborted = false;
  const { link } = await aKeyedTask((_, signal) => {
    signal.addEventListener("abort", () => {
      isAborted = true;
    });
    return new Response(new ReadableStream());
  });
  shortenStalls();
  expect(await refusal(await openWith(WITHOUT_BUCKET, link))).toEqual(UNAVAILABLE);
  expect(isAborted).toBe(true);
});

it.each([
  ["sends fewer bytes than it states", sending(VIDEO_BYTES, { "Content-Length": "5000" })],
  ["sends more bytes than it states", sending(VIDEO_BYTES, { "Content-Length": "900" })],
  ["breaks off at 90 %", () => new Response(broken(VIDEO_BYTES, VIDEO_BYTES), LONGER)],
  ["breaks off without a stated length", () => new Response(broken(VIDEO_BYTES, VIDEO_BYTES))],
] as const)(
  "when the upstream of an output %s, the relay's answer to the client breaks off too, so that the client does not take the output for complete",
  async (_, site) => {
    const { link } = await aKeyedTask(site);
    const response = await openRaw(link);
    expect(response.status).toBe(200);
    await expect(bytesIn(response)).rejects.toThrow();
  },
);

const LONGER = { headers: { "Content-Length": String(Math.ceil((2 * LENGTH) / 0.9)) } };

/** Returns a stream that breaks off behind these pieces. */
function broken(...pieces: readonly Uint8Array[]): ReadableStream {
  const rest = [...pieces];
  return new ReadableStream({
    pull: async (controller) => {
      const next = rest.shift();
      // The pieces before must have been read.
      await realMs(5);
      if (next === undefined) controller.error(new Error("broken"));
      else controller.enqueue(next);
    },
  });
}

it("when a client that reads an endless output goes away, the relay ends its request to the upstream", async () => {
  let isCanceled = false;
  const endless: Site = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(VIDEO_BYTES),
        cancel: () => {
          isCanceled = true;
        },
      }),
    );
  const { link } = await aKeyedTask(endless);
  const reader = (await openRaw(link)).body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  await reader?.cancel();
  await until(() => isCanceled);
});

it("when a client that reads an output goes away while the upstream sends nothing, the relay ends its request to the upstream", async () => {
  let isAborted = false;
  const { link } = await aKeyedTask(
    stalling(() => {
      isAborted = true;
    }),
  );
  const reader = (await openRaw(link)).body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  await reader?.cancel();
  await until(() => isAborted);
});

it("when the upstream stops in the middle of an output, the answer to the client breaks off after 30 seconds", async () => {
  let isAborted = false;
  const { link } = await aKeyedTask(
    stalling(() => {
      isAborted = true;
    }),
  );
  shortenStalls();
  await expect(bytesIn(await openRaw(link))).rejects.toThrow();
  expect(isAborted).toBe(true);
});

/** Returns an upstream that sends the first bytes and then nothing more. */
function stalling(onAbort: () => void): Site {
  return (_, signal) => {
    signal.addEventListener("abort", onAbort);
    return new Response(
      new ReadableStream({ start: (controller) => controller.enqueue(VIDEO_BYTES) }),
    );
  };
}

/** Makes the time for which an upstream may send nothing pass at once. */
function shortenStalls(): void {
  const wait = globalThis.setTimeout;
  const shortened = (run: () => void, ms?: number) => wait(run, ms === 30_000 ? 20 : ms);
  vi.stubGlobal("setTimeout", shortened);
}

afterEach(() => {
  vi.unstubAllGlobals();
});
