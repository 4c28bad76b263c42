import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { callWith, refusal } from "../worker/client.ts";
import { DAY_MS, pass, START_S, useClock } from "../worker/clock.ts";
import { answering } from "../worker/outside.ts";
import { aRateLimit, LIMITED, sendFrom } from "../worker/rate-limits.ts";
import { erase, finish, register } from "../worker/tasks.ts";
import {
  anUpstream,
  bucket,
  bytesOf,
  completedWith,
  copiesOf,
  copy,
  keyOf,
  sending,
  SOURCE,
  VIDEO_BYTES,
} from "./copied.ts";
import { bytesIn, linkOf, open } from "./linked.ts";

useClock();

const POLICY =
  "default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'; sandbox";
const NOT_FOUND = { status: 404, code: "not_found" };
const LENGTH = VIDEO_BYTES.length;

/** Completes a task whose only output has these bytes, and copies it. Returns the id of the task and the link. */
async function aCopy(bytes: Uint8Array<ArrayBuffer> = VIDEO_BYTES, source = SOURCE) {
  const upstream = anUpstream(sending(bytes));
  upstream.on(source, sending(bytes));
  const id = await completedWith([source]);
  await copy(id);
  return { id, link: await linkOf(id), upstream };
}

/** Reads the problem `output_gone` and its reason. */
async function goneBecause(response: Response): Promise<unknown> {
  expect(response.status).toBe(410);
  expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
  const { code, reason }: { code?: unknown; reason?: unknown } = await response.json();
  expect(code).toBe("output_gone");
  return reason;
}

it("the link to an output sends the copy, with headers that let all sites show it and browsers run nothing of it", async () => {
  const { id, link, upstream } = await aCopy();
  upstream.on(SOURCE, answering(null, 404));
  pass(3 * DAY_MS);
  const response = await open(link);
  expect(response.status).toBe(200);
  expect(await bytesIn(response)).toEqual(VIDEO_BYTES);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "video/mp4",
    "content-length": String(LENGTH),
    "content-disposition": `inline; filename="${id}-1.mp4"`,
    "content-security-policy": POLICY,
    "cross-origin-resource-policy": "cross-origin",
    "access-control-allow-origin": "*",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "accept-ranges": "bytes",
    "cache-control": "private, max-age=3600",
    etag: (await bucket().head(keyOf(id)))?.httpEtag,
  });
});

it("a copy is kept by browsers no longer than its link works", async () => {
  const { link } = await aCopy();
  pass(7 * DAY_MS - 90_250);
  expect((await open(link)).headers.get("Cache-Control")).toBe("private, max-age=90");
});

it("HEAD of a link has the headers of GET and no body", async () => {
  const { link } = await aCopy();
  const read = await open(link);
  const head = await open(link, {}, "HEAD");
  expect(head.status).toBe(200);
  expect(await bytesIn(head)).toHaveLength(0);
  const ignored = { "x-request-id": "" };
  expect({ ...Object.fromEntries(head.headers), ...ignored }).toEqual({
    ...Object.fromEntries(read.headers),
    ...ignored,
  });
});

it.each([
  ["bytes=0-9", 0, 10],
  ["bytes=100-", 100, LENGTH - 100],
  ["bytes=-5", LENGTH - 5, 5],
  ["bytes=1000-99999", 1_000, LENGTH - 1_000],
])("the range %s of a copy is sent alone", async (range, offset, length) => {
  const { link } = await aCopy();
  const response = await open(link, { Range: range });
  expect(response.status).toBe(206);
  expect(response.headers.get("Content-Range")).toBe(
    `bytes ${offset}-${offset + length - 1}/${LENGTH}`,
  );
  expect(response.headers.get("Content-Length")).toBe(String(length));
  expect(response.headers.get("Content-Type")).toBe("video/mp4");
  expect(await bytesIn(response)).toEqual(VIDEO_BYTES.subarray(offset, offset + length));
});

it("a range behind the end of a copy is answered with 416 and the size", async () => {
  const { link } = await aCopy();
  const response = await open(link, { Range: `bytes=${LENGTH}-` });
  expect(response.status).toBe(416);
  expect(response.headers.get("Content-Range")).toBe(`bytes */${LENGTH}`);
});

it("the ETag of a copy decides If-Range, If-None-Match and If-Match", async () => {
  const { link } = await aCopy();
  const etag = (await open(link)).headers.get("ETag") ?? "";
  const statusFor = async (headers: Record<string, string>) => (await open(link, headers)).status;
  expect(await statusFor({ "If-None-Match": etag })).toBe(304);
  expect(await statusFor({ "If-None-Match": '"other"' })).toBe(200);
  expect(await statusFor({ "If-Match": '"other"' })).toBe(412);
  expect(await statusFor({ Range: "bytes=0-9", "If-Range": etag })).toBe(206);
  expect(await statusFor({ Range: "bytes=0-9", "If-Range": '"other"' })).toBe(200);
});

it.each([
  [
    "an HTML page",
    "<!doctype html><script>alert(1)</script>",
    "https://cdn.example.net/v.mp4",
    "mp4",
  ],
  [
    "an SVG",
    '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "https://cdn.example.net/a.svg",
    "svg",
  ],
])("browsers save %s and do not show it, whatever its name", async (_, text, source, extension) => {
  const { id, link } = await aCopy(bytesOf(text), source);
  const { headers } = await open(link);
  expect(headers.get("Content-Type")).toBe("application/octet-stream");
  expect(headers.get("Content-Disposition")).toBe(`attachment; filename="${id}-1.${extension}"`);
  expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
});

it("pages of all sites may ask for parts of an output", async () => {
  const { link } = await aCopy();
  const asked = { Origin: "https://shop.example.com", "Access-Control-Request-Method": "GET" };
  const response = await open(link, asked, "OPTIONS");
  expect(response.status).toBe(204);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, HEAD",
    "access-control-allow-headers": "Range, If-Range, If-Match, If-None-Match",
  });
  expect((await open(link, {}, "POST")).status).toBe(405);
});

it("a link that the relay has not made, one of an erased task and one of an earlier task under the same id get the same answer", async () => {
  const { id, link, upstream } = await aCopy();
  const wrong = link.replace(/_.{43}\./, `_${"A".repeat(43)}.`);
  const bodyOf = async (path: string) => {
    const response = await open(path);
    const headers = Object.fromEntries(response.headers);
    return { status: response.status, text: await response.text(), ...headers, "x-request-id": "" };
  };
  const forged = await bodyOf(wrong);
  expect(await refusal(await open(wrong))).toEqual(NOT_FOUND);
  expect((await erase(id)).status).toBe(204);
  expect(await copiesOf(id)).toEqual([]);
  expect(await bodyOf(link)).toEqual(forged);
  expect(await bodyOf(link.replace(id, crypto.randomUUID()))).toEqual(forged);
  pass(1_000);
  await register({ id });
  expect(await bodyOf(link)).toEqual(forged);
  await finish({ id, status: "completed", output: { urls: [SOURCE] } } as { id: string });
  expect(await bodyOf(link)).toEqual(forged);
  expect((await open(await linkOf(id))).status).toBe(302);
  expect(upstream.sentTo(SOURCE)).toHaveLength(1);
});

it("a link that has expired is answered with 410, also while the copy is still there", async () => {
  const { id, link } = await aCopy();
  pass(7 * DAY_MS - 251);
  expect((await open(link)).status).toBe(200);
  pass(1);
  expect(Date.now()).toBe((START_S + (7 * DAY_MS) / 1000) * 1000);
  expect(await goneBecause(await open(link))).toBe("expired");
  expect(await copiesOf(id)).toHaveLength(1);
});

it("a copy that has disappeared from the bucket is answered from the upstream while its link lives, then with 410", async () => {
  const { id, link } = await aCopy();
  await bucket().delete(keyOf(id));
  expect((await open(link)).status).toBe(302);
  pass(DAY_MS + 1_000);
  expect(await goneBecause(await open(link))).toBe("missing");
});

it("a bucket that fails is answered with 503, and the log names the failure", async () => {
  const { link } = await aCopy();
  const lines = vi.spyOn(console, "warn");
  const fail = async () => {
    throw new Error("R2 is down");
  };
  const bindings = { ...env, OUTPUTS: { get: fail, head: fail } };
  const response = await callWith(bindings, link, { key: null });
  expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
  expect(JSON.stringify(lines.mock.calls)).toContain("R2 is down");
});

it("LIMIT_LINKS counts the requests for the outputs of a task from one address, and wrong links count as wrong credentials", async () => {
  const { link } = await aCopy();
  const limited = { ...env, LIMIT_LINKS: aRateLimit(2), LIMIT_REFUSALS: aRateLimit(1) };
  const from = (address: string, path = link) => sendFrom(address, limited, { path, key: null });
  expect((await from("203.0.113.1")).status).toBe(200);
  expect((await from("203.0.113.1")).status).toBe(200);
  const third = await from("203.0.113.1");
  expect(third.headers.get("Access-Control-Allow-Origin")).toBe("*");
  expect(await refusal(third)).toEqual(LIMITED);
  expect((await from("203.0.113.2")).status).toBe(200);
  expect(await refusal(await from("203.0.113.3", `${link}x`))).toEqual(NOT_FOUND);
  expect(await refusal(await from("203.0.113.3", `${link}x`))).toEqual(LIMITED);
});
