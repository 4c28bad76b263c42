import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { answerTo, ORIGIN, refusal } from "../worker/client.ts";
import { DAY_MS, pass, useClock } from "../worker/clock.ts";
import { answering } from "../worker/outside.ts";
import { aRateLimit, sendFrom } from "../worker/rate-limits.ts";
import { isolateOf } from "../worker/isolates.ts";
import { answerFrom } from "../worker/started.ts";
import { erase } from "../worker/tasks.ts";
import {
  anUpstream,
  bucket,
  bytesOf,
  completedWith,
  copy,
  keyOf,
  readCopied,
  sending,
  SOURCE,
  VIDEO_BYTES,
} from "./copied.ts";

useClock();

const LENGTH = VIDEO_BYTES.length;
const GONE = { status: 410, code: "output_gone" };
const SAFE = {
  "access-control-allow-origin": "*",
  "content-security-policy":
    "default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'; sandbox",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "cross-origin",
  "x-download-options": "noopen",
  "x-content-type-options": "nosniff",
};

/** Completes a task with this output, and returns its id and the link of the relay. */
async function linked(bytes = VIDEO_BYTES) {
  const outside = anUpstream(sending(bytes));
  const id = await completedWith([SOURCE]);
  const link = (await readCopied(id)).output.urls[0] ?? "";
  return { id, link, ...outside };
}

/** Returns the headers of an answer, without the id of its request. */
function headersOf({ headers }: Response): Readonly<Record<string, string>> {
  return { ...Object.fromEntries(headers), "x-request-id": "" };
}

/** Completes a task with this output, copies it, and returns its id and the link of the relay. */
async function copied(bytes = VIDEO_BYTES) {
  const task = await linked(bytes);
  await copy(task.id);
  return task;
}

function open(link: string, headers: Record<string, string> = {}, method = "GET") {
  return answerTo(new Request(link, { headers, method, redirect: "manual" }), env);
}

describe("the relay's link to an output that the relay has copied", () => {
  it("the relay's link to a copied output opens the copy, also when the upstream's link is dead, and lets pages of all sites show it", async () => {
    const { link, on } = await copied();
    on(SOURCE, answering(null, 404));
    pass(2 * DAY_MS);
    const response = await open(link);
    expect(response.status).toBe(200);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(VIDEO_BYTES);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      ...SAFE,
      "accept-ranges": "bytes",
      "cache-control": "private, max-age=3600",
      "content-length": String(LENGTH),
      "content-type": "video/mp4",
      etag: expect.stringMatching(/^"[\da-f]+"$/),
    });
    expect(response.headers.get("Content-Disposition")).toMatch(
      /^inline; filename="[\w-]+-1\.mp4"$/,
    );
  });

  it("the relay's link to a copied output lets browsers save the copy, also one that they could show, when the query has the parameter download", async () => {
    const { link } = await copied();
    const response = await open(`${link}?download`);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(VIDEO_BYTES);
    expect(response.headers.get("Content-Disposition")).toMatch(
      /^attachment; filename="video-[\da-f]{8}-1\.mp4"$/,
    );
    expect(Object.fromEntries(response.headers)).toMatchObject(SAFE);
  });

  it("the relay's link to a copied output answers HEAD with the same headers and no body", async () => {
    const { link } = await copied();
    const [head, got] = [await open(link, {}, "HEAD"), await open(link)];
    expect(await head.text()).toBe("");
    expect(headersOf(head)).toEqual(headersOf(got));
  });

  it.each([
    ["bytes=0-3", 0, 4],
    ["bytes=4-7", 4, 4],
    ["bytes=-5", LENGTH - 5, 5],
    [`bytes=${LENGTH - 1}-`, LENGTH - 1, 1],
    ["bytes=10-999999", 10, LENGTH - 10],
  ])(
    "the relay's link to a copied output is answered with the part that the header Range: %s asks for",
    async (range, offset, length) => {
      const { link } = await copied();
      const response = await open(link, { Range: range });
      expect(response.status).toBe(206);
      const end = offset + length - 1;
      expect(response.headers.get("Content-Range")).toBe(`bytes ${offset}-${end}/${LENGTH}`);
      expect(response.headers.get("Content-Length")).toBe(String(length));
      const part = new Uint8Array(await response.arrayBuffer());
      expect(part).toEqual(VIDEO_BYTES.subarray(offset, offset + length));
    },
  );

  it("a request with Range for a copied output gets the part when its If-Range is the copy's ETag, and the whole copy when its If-Range is another ETag", async () => {
    const { link } = await copied();
    const etag = (await open(link)).headers.get("ETag") ?? "";
    const ranged = { Range: "bytes=0-3" };
    expect((await open(link, { ...ranged, "If-Range": etag })).status).toBe(206);
    expect((await open(link, { ...ranged, "If-Range": '"another"' })).status).toBe(200);
  });

  it("the relay's link to a copied output is answered with 304, 412 or 416 and no body when the request's conditions or its Range demand it", async () => {
    const { link } = await copied();
    const etag = (await open(link)).headers.get("ETag") ?? "";
    for (const [status, headers] of [
      [304, { "If-None-Match": etag }],
      [412, { "If-Match": '"another"' }],
      [416, { Range: `bytes=${LENGTH}-` }],
    ] as const) {
      const response = await open(link, headers);
      expect([response.status, response.headers.get("ETag")]).toEqual([status, etag]);
      expect(await response.text()).toBe("");
      expect(Object.fromEntries(response.headers)).toMatchObject(SAFE);
    }
    const unsatisfiable = await open(link, { Range: `bytes=${LENGTH}-` });
    expect(unsatisfiable.headers.get("Content-Range")).toBe(`bytes */${LENGTH}`);
  });

  it("the relay's link to a copied output sends the whole copy when the entity tag in If-None-Match is an asterisk in quotation marks", async () => {
    const { link } = await copied();
    const response = await open(link, { "If-None-Match": '"*"' });
    expect(response.status).toBe(200);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(VIDEO_BYTES);
  });

  it.each([
    ["HTML", "<!doctype html><script>alert(1)</script>"],
    ["an SVG", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
  ])(
    "the relay's link to a copied output offers %s for download, whatever type the link and the upstream state",
    async (_, text) => {
      const { link } = await copied(bytesOf(text));
      const { headers } = await open(link);
      expect(headers.get("Content-Type")).toBe("application/octet-stream");
      expect(headers.get("Content-Disposition")).toMatch(/^attachment; /);
      expect(Object.fromEntries(headers)).toMatchObject(SAFE);
    },
  );

  it("the relay's link to a copied output is answered with 410 and the reason once the link has expired", async () => {
    const { link } = await copied();
    pass(3 * DAY_MS);
    const response = await open(link);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
    expect(await refusal(response)).toEqual(GONE);
  });

  it("the relay's link to a copied output opens nothing after its task was erased", async () => {
    const { id, link } = await copied();
    await erase(id);
    expect(await refusal(await open(link))).toEqual({ status: 404, code: "not_found" });
  });

  it("the relay's link to a copied output opens only at the host of OUTPUTS_URL; other hosts redirect there, and this host serves nothing else", async () => {
    const { link } = await copied();
    const { pathname } = new URL(link);
    const bindings = { ...env, OUTPUTS_URL: "https://outputs.example.org" };
    const isolate = await isolateOf(bindings);
    const get = async (origin: string, path: string) =>
      answerFrom(isolate, new Request(origin + path, { redirect: "manual" }));
    expect((await get("https://outputs.example.org", pathname)).status).toBe(200);
    for (const origin of [ORIGIN, "https://task-relay.acme.workers.dev"]) {
      const { status, headers } = await get(origin, pathname);
      expect(status).toBe(302);
      expect(Object.fromEntries(headers)).toMatchObject({
        ...SAFE,
        location: `https://outputs.example.org${pathname}`,
      });
    }
    expect((await get(ORIGIN, "/outputs/no/1/link.mp4")).status).toBe(302);
    for (const path of ["/healthz", "/", "/login", "/v1/tasks"]) {
      expect((await get("https://outputs.example.org", path)).status).toBe(404);
    }
    expect((await get(ORIGIN, "/healthz")).status).toBe(200);
  });
});

describe("the relay's link to an output that the relay has not copied", () => {
  it("the relay's link to an output without a copy redirects to the upstream's own link, and no cache may store the redirect", async () => {
    const { link } = await linked();
    const response = await open(link);
    expect(response.status).toBe(302);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      ...SAFE,
      location: SOURCE,
      "cache-control": "no-store",
    });
  });

  it("when the relay has given up copying an output, the relay's link redirects to the upstream's own link, and is answered with 410 once the upstream's link has expired", async () => {
    const { link, id, on } = await linked();
    on(SOURCE, answering(null, 302, { Location: "https://127.0.0.1/" }));
    await copy(id);
    expect((await open(link)).status).toBe(302);
    pass(DAY_MS);
    expect(await refusal(await open(link))).toEqual(GONE);
  });

  it("the relay's link to an output redirects to the upstream's own link when the bucket has lost the copy", async () => {
    const { link, id } = await copied();
    await bucket().delete(keyOf(id));
    expect((await open(link)).status).toBe(302);
  });
});

describe("a forged link to an output, or a wrong method", () => {
  it.each([
    ["the number of another output", (link: string) => link.replace("/1/", "/2/")],
    ["a later time of expiry", (link: string) => link.replace(/\/1\/\d/, "/1/9")],
    ["another file extension", (link: string) => link.replace(/mp4$/, "html")],
    ["no token", (link: string) => link.replace(/\/[^/]+$/, "/x.mp4")],
  ])(
    "a link to an output that somebody has changed so that it has %s is answered with 404",
    async (_, change) => {
      const { link } = await copied();
      expect(await refusal(await open(change(link)))).toEqual({ status: 404, code: "not_found" });
    },
  );

  it("a request with a forged link to an output counts in the rate limit LIMIT_REFUSALS, and one with a genuine link in LIMIT_LINKS", async () => {
    const { link } = await copied();
    const limited = { ...env, LIMIT_REFUSALS: aRateLimit(0), LIMIT_LINKS: aRateLimit(0) };
    const from = (path: string) => sendFrom("192.0.2.1", limited, { path, key: null });
    expect((await from(link.replace("/1/", "/2/"))).status).toBe(429);
    const genuine = await from(link);
    expect(genuine.status).toBe(429);
    expect(genuine.headers.get("Access-Control-Allow-Origin")).toBe("*");
  });

  it.each(["POST", "PUT", "DELETE"])(
    "a request to a link to an output is refused when its method is %s",
    async (method) => {
      const { link } = await copied();
      const response = await open(link, {}, method);
      expect([response.status, response.headers.get("Allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    },
  );
});
