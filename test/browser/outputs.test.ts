import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { LoopbackServer } from "../process/harness/loopback.ts";
import { WranglerDev } from "../process/harness/wrangler-dev.ts";
import { OutputSource } from "../process/outputs/output-source.ts";
import { violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";
import { filmed } from "./media.ts";

const KEPT_WITHIN_MS = 30_000;
/** Time within which the sandbox answers with a picture, which takes it 20 s, and the page shows it. */
const PICTURE_WITHIN_MS = 45_000;
const SOON = { timeout: 15_000, interval: 50 };
/** Part of the file name of a script that a hostile output tries to load. */
const BEACON = "/beacon.js";

const Outputs = z.looseObject({
  output: z.looseObject({ urls: z.array(z.string()) }),
  outputs: z.array(z.looseObject({ kept: z.boolean() })),
});

const Called = z.looseObject({ id: z.string() });

let relay: WranglerDev;
let source: OutputSource;
let site: Site;

/** A page of another site, and a server that notices when a hostile output runs. */
class Site extends LoopbackServer {
  readonly asked: string[] = [];
  /** HTML text of the page. */
  text = "";

  private constructor() {
    super(({ url = "" }, response) => {
      this.asked.push(url);
      response.writeHead(200, { "Content-Type": "text/html" }).end(this.text);
    });
  }

  static async start(): Promise<Site> {
    return new Site().listen();
  }
}

beforeAll(async () => {
  [source, site] = await Promise.all([OutputSource.start(), Site.start()]);
  relay = await WranglerDev.start({
    vars: (url) => ({ ...LOCAL_VARS, PUBLIC_URL: url, SANDBOX: "true" }),
    hasIndex: false,
    hasOutputs: true,
  });
});

afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await source[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

/** Completes a task with one output, and waits until the relay has a copy. @returns the id and the link of the relay. */
async function kept(name: string, bytes: Uint8Array): Promise<{ id: string; link: string }> {
  const id = randomUUID();
  const url = source.serve(`/${id}/${name}`, { bytes, isLengthStated: true, firstAnswer: "whole" });
  const event = { id, status: "completed", model: "m", output: { urls: [url], metadata: {} } };
  await relay.client.ask("POST", "/v1/events", event);
  const { output } = await vi.waitUntil(
    async () => {
      const { json } = await relay.client.ask("GET", `/v1/tasks/${id}`);
      const task = Outputs.parse(json);
      return task.outputs.every((copy) => copy.kept) ? task : null;
    },
    { timeout: KEPT_WITHIN_MS, interval: 200 },
  );
  return { id, link: output.urls[0] ?? "" };
}

/** Plays the video of a page from its beginning. @returns the time of the video that was reached, in seconds. */
function played(page: Page): Promise<number> {
  return page.locator("video").evaluate(async (video) => {
    if (!(video instanceof HTMLVideoElement)) throw new Error("this is no video");
    video.muted = true;
    video.currentTime = 0;
    await video.play();
    const giveUpAt = Date.now() + 10_000;
    while (video.currentTime < 0.2 && !video.ended && Date.now() < giveUpAt) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return video.currentTime;
  });
}

/**
 * Opens a video by its link, which Chromium shows in a page of its own, and clicks into it. Resolves when the video plays.
 */
async function playDirectly(link: string): Promise<void> {
  // The answer forbids scripts, also those of this test.
  const page = await openPage(relay.url, {
    expected: [/^console error: Blocked script execution/],
  });
  const session = await page.context().newCDPSession(page);
  const events: string[] = [];
  session.on("Media.playerEventsAdded", ({ events: added }) => {
    events.push(...added.map(({ value }) => value));
  });
  const seen = (part: string) => () => events.some((event) => event.includes(part));
  await session.send("Media.enable");
  await page.goto(link);
  await vi.waitUntil(seen("BUFFERING_HAVE_ENOUGH"), SOON);
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  await page.mouse.click(width / 2, height / 2);
  await vi.waitUntil(seen('"kPlay"'), SOON);
  await vi.waitUntil(seen('"kEnded"'), SOON);
}

it("after the upstream's link to a video has expired, Chromium plays the relay's copy: on the task's console page, on a page of another site, and opened directly", async () => {
  const page = await openPage(relay.url);
  await page.goto("/login");
  const { id, link } = await kept("fox.webm", await filmed(page));
  expect(new URL(link).origin).toBe(relay.url);
  source.isDead = true;
  try {
    await logIn(page, `/tasks/${id}`);
    await page.getByText("video/webm").waitFor();
    expect(await played(page)).toBeGreaterThanOrEqual(0.2);

    site.text = `<!doctype html><title>Another site</title><link rel="icon" href="data:,"><video src="${link}"></video>`;
    const stranger = await openPage(site.origin, { origins: [relay.url] });
    await stranger.goto("/");
    expect(await played(stranger)).toBeGreaterThanOrEqual(0.2);

    await playDirectly(link);
  } finally {
    source.isDead = false;
  }
});

it.each(["light", "dark"] as const)(
  "the console's page of a call whose client does not wait says since when it is sent, and then shows the picture in the upstream's answer, without a reload (%s)",
  async (colorScheme) => {
    const body = { model: "sandbox/image", prompt: "a fox" };
    const headers = { Prefer: "respond-async" };
    const path = "/v1/submit/sandbox/images/generations";
    const called = await relay.client.send("POST", path, body, { headers });
    const { id } = Called.parse(await called.json());
    const page = await openPage(relay.url, { context: { colorScheme } });
    await logIn(page, `/tasks/${id}`);
    await page
      .getByText(/The call was sent \d+ s ago\. Waits for the upstream's answer\./)
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
    const picture = page.locator(".task-page img");
    await picture.waitFor({ timeout: PICTURE_WITHIN_MS });
    const width = () =>
      picture.evaluate((img) => img instanceof HTMLImageElement && img.naturalWidth);
    await expect.poll(width, SOON).toBe(96);
    expect(await violationsOf(page)).toEqual([]);
  },
);

it.each([
  [
    "HTML page",
    "page.html",
    (url: string) => `<!doctype html><script src="${url}"></script><img src="${url}">`,
  ],
  [
    "SVG picture",
    "picture.svg",
    (url: string) =>
      `<svg xmlns="http://www.w3.org/2000/svg"><script href="${url}"/><image href="${url}"/></svg>`,
  ],
])(
  "when a user opens the relay's link to an %s that an upstream has generated, Chromium downloads it, and neither runs nor loads anything in it",
  async (_, name, textOf) => {
    const text = textOf(`${site.origin}${BEACON}`);
    const { link } = await kept(name, Buffer.from(text));
    const page = await openPage(relay.url);
    await page.goto("/login");
    const download = page.waitForEvent("download");
    await page.evaluate((url) => location.assign(url), link);
    expect((await download).suggestedFilename()).toMatch(/\.(?:bin|svg)$/);
    expect(page.url()).toBe(`${relay.url}/login`);
    expect(site.asked.filter((url) => url.startsWith(BEACON))).toEqual([]);
  },
);
