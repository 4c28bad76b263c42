import { afterEach, expect, it, vi } from "vitest";
import { MAX_UNREAD_MS } from "../../src/lib/stream.ts";
import { refusal } from "../worker/client.ts";
import { until, useClock } from "../worker/clock.ts";
import type { Site } from "../worker/outside.ts";
import { VIDEO_BYTES } from "./copied.ts";
import { aKeyedTask, openRaw, WITHOUT_BUCKET } from "./keyed.ts";
import { openWith } from "./linked.ts";

useClock();

afterEach(() => {
  vi.unstubAllGlobals();
});

/** The requests for outputs that an upstream is answering. */
const open = new Set<AbortSignal>();

/** Sends bytes of a video until the request for them ends. */
const endless: Site = (_, signal) => {
  open.add(signal);
  return new Response(
    new ReadableStream({
      pull: (controller) => controller.enqueue(VIDEO_BYTES),
      cancel: () => void open.delete(signal),
    }),
  );
};

/** Opens a link and reads the first bytes. @returns a function with which the reader goes away. */
async function readerOf(link: string): Promise<() => Promise<void>> {
  const response = await openRaw(link);
  expect(response.status).toBe(200);
  const reader = response.body?.getReader();
  await reader?.read();
  return async () => reader?.cancel();
}

it("when a reader of an output that the relay passes on from the upstream reads nothing for a minute, the relay cuts the reader off and ends its request to the upstream", async () => {
  const { link } = await aKeyedTask(endless);
  const wait = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (run: () => void, ms?: number) =>
    wait(run, ms === MAX_UNREAD_MS ? 20 : ms),
  );
  const reader = (await openRaw(link)).body?.getReader();
  await reader?.read();
  await until(() => open.size === 0);
  const readOn = async () => {
    while ((await reader?.read())?.done === false);
  };
  await expect(readOn()).rejects.toThrow();
});

it("the 17th simultaneous reader of an output that the relay passes on gets 429 until one of the 16 has gone; a reader of another output is not refused", async () => {
  const { link } = await aKeyedTask(endless);
  const { link: other } = await aKeyedTask(endless);
  const leave = await Promise.all(Array.from({ length: 16 }, () => readerOf(link)));
  const refused = await openRaw(link);
  expect(refused.headers.get("Retry-After")).toBe("2");
  expect(await refusal(refused)).toEqual({ status: 429, code: "rate_limited" });
  leave.push(await readerOf(other));
  await leave[0]?.();
  await until(() => open.size === 16);
  leave.push(await readerOf(link));
  for (const each of leave) await each();
  await until(() => open.size === 0);
});

it("one isolate of the Worker passes outputs on to 48 readers at the same time, and answers a further reader with 503", async () => {
  const links = await Promise.all(
    Array.from({ length: 3 }, async () => (await aKeyedTask(endless)).link),
  );
  const { link: other } = await aKeyedTask(endless);
  const readers = links.flatMap((link) => Array.from({ length: 16 }, () => readerOf(link)));
  const leave = await Promise.all(readers);
  expect(await refusal(await openRaw(other))).toEqual({ status: 503, code: "unavailable" });
  for (const each of leave) await each();
  await until(() => open.size === 0);
  await (
    await readerOf(other)
  )();
  await until(() => open.size === 0);
});

it.each([
  [
    "asks for bytes that the output does not have",
    () => new Response(null, { status: 416 }),
    "GET",
    416,
  ],
  [
    "gets 503 because the upstream answers 500",
    () => new Response(null, { status: 500 }),
    "GET",
    503,
  ],
  ["asks for the headers alone", () => new Response(VIDEO_BYTES), "HEAD", 200],
] as const)(
  "of 17 requests one after the other for an output that opens only with a key, none is refused as a reader too many when each %s",
  async (_, answer, method, status) => {
    const { link } = await aKeyedTask(answer);
    for (let i = 0; i < 17; i++) {
      const response = await openWith(WITHOUT_BUCKET, link, { Range: "bytes=0-" }, method);
      expect(response.status).toBe(status);
      await response.body?.cancel();
    }
  },
);
