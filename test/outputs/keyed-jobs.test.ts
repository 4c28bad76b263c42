import { expect, it } from "vitest";
import { useClock } from "../worker/clock.ts";
import { attach, type Hooked, hooked, readHooked } from "../worker/hooked.ts";
import { stored, untilIdle, wake } from "../worker/objects.ts";
import { anOutside, answering, type Outside } from "../worker/outside.ts";
import { sending, VIDEO_BYTES } from "./copied.ts";
import { GATEWAY, KEY, KEYED, keyedLinkOf, received, WITHOUT_BUCKET } from "./keyed.ts";
import { bytesIn, openWith } from "./linked.ts";

useClock();

const DONE = { id: "video_1", object: "video", status: "completed", url: KEYED };

/** Registers a task at a gateway whose video has only a link that needs the key, and polls its job. */
async function polled(): Promise<{ task: Hooked; outside: Outside }> {
  const outside = anOutside();
  outside.on("https://client.example.net/", () => new Response());
  outside.on(GATEWAY, answering(DONE));
  outside.on(KEYED, received(sending(VIDEO_BYTES)));
  const task = await hooked({ provider: "openai-videos", bindings: WITHOUT_BUCKET });
  await attach(task, "video_1");
  await wake(task.id, ((await stored(task.id)).alarm ?? NaN) - Date.now());
  await untilIdle(task.id);
  return { task, outside };
}

it("a job whose only link needs the key completes with a link of the relay, which passes on the output", async () => {
  const { task, outside } = await polled();
  expect(await readHooked(task)).toMatchObject({
    status: "completed",
    output: { urls: [expect.stringMatching(/^https:\/\/relay\.example\.com\/outputs\//)] },
    source_urls: [KEYED],
    outputs: [{ kept: false, reason: "not_copied" }],
  });
  const link = await keyedLinkOf(task.id, WITHOUT_BUCKET);
  expect(await bytesIn(await openWith(WITHOUT_BUCKET, link))).toEqual(VIDEO_BYTES);
  expect(outside.sentTo(KEYED)[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`);
  const [callback] = outside.sentTo("https://client.example.net/");
  expect(callback?.body).toContain(link);
  expect(callback?.body).not.toContain(GATEWAY);
});
