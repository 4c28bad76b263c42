import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { callWith, refusal } from "../worker/client.ts";
import { DAY_MS, pass, START_S, useClock } from "../worker/clock.ts";
import { aRateLimit, LIMITED, sendFrom } from "../worker/rate-limits.ts";
import { erase, finish, register } from "../worker/tasks.ts";
import {
  anUpstream,
  bucket,
  completedWith,
  copiesOf,
  copy,
  keyOf,
  sending,
  SOURCE,
  VIDEO_BYTES,
} from "./copied.ts";
import { linkOf, open } from "./linked.ts";

useClock();

const NOT_FOUND = { status: 404, code: "not_found" };

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

it("Cache-Control lets a browser cache a copied output only until the relay's link to the output expires", async () => {
  const { link } = await aCopy();
  pass(3 * DAY_MS - 90_250);
  expect((await open(link)).headers.get("Cache-Control")).toBe("private, max-age=90");
});

it("the answer to a preflight request lets pages of all sites request parts of an output", async () => {
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

it("a link to an output gets the same 404 when it is forged, when its task was erased, and when a new task has since been registered with the id of the erased task", async () => {
  const { id, link, upstream } = await aCopy();
  const wrong = link.replace(/_.{43}\./, `_${"A".repeat(43)}.`);
  const forged = await answerTo(wrong);
  expect(await refusal(await open(wrong))).toEqual(NOT_FOUND);
  expect((await erase(id)).status).toBe(204);
  expect(await copiesOf(id)).toEqual([]);
  expect(await answerTo(link)).toEqual(forged);
  expect(await answerTo(link.replace(id, crypto.randomUUID()))).toEqual(forged);
  pass(1_000);
  await register({ id });
  expect(await answerTo(link)).toEqual(forged);
  await finish({ id, status: "completed", output: { urls: [SOURCE] } } as { id: string });
  expect(await answerTo(link)).toEqual(forged);
  expect((await open(await linkOf(id))).status).toBe(302);
  expect(upstream.sentTo(SOURCE)).toHaveLength(1);
});

it("a link to an output is answered with 410 once it has expired, even while the copy still exists", async () => {
  const { id, link } = await aCopy();
  pass(3 * DAY_MS - 251);
  expect((await open(link)).status).toBe(200);
  pass(1);
  expect(Date.now()).toBe((START_S + (3 * DAY_MS) / 1000) * 1000);
  expect(await goneBecause(await open(link))).toBe("link_expired");
  expect(await copiesOf(id)).toHaveLength(1);
});

it("when the copy of an output has disappeared from the bucket, the relay's link redirects to the upstream's link, and is answered with 410 once the upstream's link has expired", async () => {
  const { id, link } = await aCopy();
  await bucket().delete(keyOf(id));
  expect((await open(link)).status).toBe(302);
  pass(DAY_MS + 1_000);
  expect(await goneBecause(await open(link))).toBe("source_expired");
});

it("a link to an output is answered with 503 when the bucket fails, and the log has the error", async () => {
  const { link } = await aCopy();
  const lines = vi.spyOn(console, "warn");
  const bindings = { ...env, OUTPUTS: { get: failing, head: failing } };
  const response = await callWith(bindings, link, { key: null });
  expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
  expect(JSON.stringify(lines.mock.calls)).toContain("R2 is down");
});

it("LIMIT_LINKS limits an IP address's requests for the outputs of a task, and LIMIT_REFUSALS its requests with a wrong link", async () => {
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

async function failing(): Promise<never> {
  throw new Error("R2 is down");
}

/** Returns the answer to a link, without the id of the request. */
async function answerTo(path: string) {
  const response = await open(path);
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, text: await response.text(), ...headers, "x-request-id": "" };
}
