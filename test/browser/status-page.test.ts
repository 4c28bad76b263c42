import { randomUUID } from "node:crypto";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import * as z from "zod";
import { ROOT } from "../process/harness/child.ts";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { LoopbackServer } from "../process/harness/loopback.ts";
import { Workerd } from "../process/harness/workerd.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { filmed, picture, tone } from "./media.ts";
import { Tab } from "./tab.ts";

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40"><circle cx="20" cy="20" r="18" fill="#b3541e"/></svg>`;
const BRAND = { BRAND_NAME: "Fox & Films", BRAND_LOGO: "fox.svg", BRAND_COLOR: "#0E8577" };
const BRAND_RGB = "rgb(14, 133, 119)";
const KEPT_WITHIN_MS = 30_000;
const SOON = { timeout: 15_000, interval: 50 };

const VIEWS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const;

const Registered = z.object({ id: z.string(), status_url: z.string() });
const Kept = z.looseObject({ outputs: z.array(z.looseObject({ kept: z.boolean() })) });

let relay: Workerd;
/** Where the relay as it runs now leaves the outputs of tasks. */
let served: "kept" | "elsewhere" | null = null;
/** Directory of the files that the relay serves, with the logo of the operator. */
let files = "";
/** Host of an upstream, with the files that it has generated. */
let upstream: LoopbackServer;
const generated = new Map<string, readonly [type: string, bytes: Buffer]>([
  ["/fox.png", ["image/png", picture(320, 200, [200, 90, 30])]],
  ["/fox.wav", ["audio/wav", tone()]],
  ["/fox.zip", ["application/zip", Buffer.from("PK\u0003\u0004 and so on")]],
]);

beforeAll(async () => {
  upstream = await new LoopbackServer(({ url = "" }, response) => {
    const [type, bytes] = generated.get(url.split("?")[0] ?? "") ?? [];
    if (type === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": type, "Content-Length": bytes?.length ?? 0 });
    response.end(bytes);
  }).listen();
  files = await mkdtemp(join(tmpdir(), "task-relay-files-"));
  await cp(join(ROOT, "public"), files, { recursive: true });
  await mkdir(join(files, "brand"), { recursive: true });
  await writeFile(join(files, "brand/fox.svg"), LOGO);
  await writeFile(join(files, "brand/fox.png"), picture(8, 8, [200, 90, 30]));
  relay = await Workerd.start({ vars: LOCAL_VARS, hasOutputs: true, files });
  await using tab = await Tab.open(relay.url);
  await tab.page.goto("/login");
  generated.set("/fox.webm", ["video/webm", Buffer.from(await filmed(tab.page))]);
});

afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  await rm(files, { recursive: true });
});

/** Starts the relay with links of its own to outputs, whose copies it keeps, or without. */
async function serve(outputs: "kept" | "elsewhere"): Promise<void> {
  if (served === outputs) return;
  served = outputs;
  const own = outputs === "kept" ? { PUBLIC_URL: relay.url } : {};
  await relay.restart({ ...LOCAL_VARS, ...BRAND, ...own });
}

async function registered(): Promise<z.output<typeof Registered>> {
  const body = { id: randomUUID(), model: "seedance" };
  return Registered.parse((await relay.client.ask("POST", "/v1/tasks", body)).json);
}

/** Completes a task with files of the upstream. */
async function completed(...names: readonly string[]): Promise<string> {
  const { id, status_url } = await registered();
  const output = { urls: names.map((name) => `${upstream.origin}${name}`), metadata: { seed: 7 } };
  await relay.client.ask("POST", "/v1/events", { id, status: "completed", output });
  return status_url;
}

/** Opens the page of a status link, which may load what the upstream has generated. */
function openStatus(context: NonNullable<Parameters<typeof openPage>[1]>["context"] = {}) {
  return openPage(relay.url, { context, origins: [upstream.origin] });
}

/** Waits until the browser has loaded what a viewer or player shows. */
async function loaded(viewer: Locator): Promise<void> {
  const isLoaded = () =>
    viewer.evaluate((each) =>
      each instanceof HTMLImageElement
        ? each.naturalWidth > 0
        : each instanceof HTMLMediaElement && each.duration > 0,
    );
  await expect.poll(isLoaded, SOON).toBe(true);
}

async function expectAccessible(page: Page): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  expect(await isTooWide(page)).toBe(false);
}

it.each(VIEWS)(
  "the page of a status link shows pictures, videos and sounds from the upstream's host in viewers and players, with a button for each file and no link as text (%s)",
  async (_, context) => {
    await serve("elsewhere");
    const link = await completed(
      "/fox.webm",
      `/fox.png?signature=${"a".repeat(150)}`,
      "/fox.wav",
      "/fox.zip",
    );
    const page = await openStatus(context);
    await page.goto(link);
    await page.getByRole("heading", { name: "Your 4 files are ready" }).waitFor();
    for (const viewer of ["video", "main img", "audio"]) await loaded(page.locator(viewer));
    const buttons = page.getByRole("link", { name: /^Open / });
    expect(await buttons.allTextContents()).toEqual([
      "Open video 1",
      "Open picture 2",
      "Open audio file 3",
      "Open file 4",
    ]);
    expect(await page.locator("main").innerText()).not.toContain("://");
    await expectAccessible(page);
  },
);

it.each([
  ["svg", "image/svg+xml"],
  ["png", "image/png"],
])(
  "a logo that is a .%s file in public/brand is answered as %s, with a policy under which no script in it runs",
  async (extension, type) => {
    const { status, headers } = await fetch(`${relay.url}/brand/fox.${extension}`);
    expect([status, headers.get("Content-Type"), headers.get("Content-Security-Policy")]).toEqual([
      200,
      type,
      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    ]);
  },
);

it.each(VIEWS)(
  "the page of a status link has the name, the logo and the colour of the operator, and no link to the console (%s)",
  async (_, context) => {
    await serve("elsewhere");
    const page = await openStatus(context);
    await page.goto(await completed("/fox.png"));
    await page.getByRole("banner").getByText("Fox & Films").waitFor();
    await loaded(page.locator("main img"));
    await loaded(page.locator("header img"));
    const button = page.getByRole("link", { name: "Open the picture" });
    const color = await button.evaluate((each) => getComputedStyle(each).backgroundColor);
    expect([color, await page.title()]).toEqual([BRAND_RGB, "Your result · Fox & Films"]);
    expect(await page.locator(`a[href^="/"]`).count()).toBe(0);
    await expectAccessible(page);
  },
);

/** Waits until the relay has a copy of each file of a task. */
async function kept(link: string): Promise<void> {
  const path = new URL(link).pathname;
  const areKept = async () => {
    const { json } = await relay.client.ask("GET", path);
    return Kept.parse(json).outputs.every((copy) => copy.kept);
  };
  await vi.waitUntil(areKept, { timeout: KEPT_WITHIN_MS, interval: 200 });
}

it.each(VIEWS)(
  "the page of a status link shows the relay's copy of a video, says until when it is there, and its button saves it under a name that says what it is (%s)",
  async (_, context) => {
    await serve("kept");
    const link = await completed("/fox.webm");
    await kept(link);
    const page = await openPage(relay.url, { context: { ...context, acceptDownloads: true } });
    await page.goto(link);
    await page.getByRole("heading", { name: "Your video is ready" }).waitFor();
    await page.getByText(/^You can save it until .*, in 2 d\. Then it is deleted\.$/).waitFor();
    await loaded(page.locator("video"));
    await expectAccessible(page);
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download the video" }).click();
    const [start = ""] = new URL(link).pathname.split("/").at(-1)?.split("-") ?? [];
    expect((await download).suggestedFilename()).toBe(`video-${start}-1.webm`);
    expect(page.url()).toBe(link);
  },
);

it("while a video plays, the page of its status link refreshes itself without interrupting it, and keeps the details open", async () => {
  await serve("kept");
  const page = await openPage(relay.url);
  await page.goto(await completed("/fox.webm", "/not-there.webm"));
  await page.getByText("being copied, shown in a moment").last().waitFor();
  const video = page.locator("video");
  await loaded(video);
  await page.getByText("Details").click();
  const isUninterrupted = await video.evaluate(async (each) => {
    if (!(each instanceof HTMLVideoElement)) throw new Error("this is no video");
    each.muted = true;
    each.playbackRate = 0.0625;
    await each.play();
    let isInterrupted = false;
    for (const type of ["pause", "emptied"]) {
      each.addEventListener(type, () => (isInterrupted = true));
    }
    await new Promise((resolve) => document.addEventListener("refreshed", resolve, { once: true }));
    return !isInterrupted && each.isConnected && !each.paused;
  });
  expect(isUninterrupted).toBe(true);
  expect(await page.getByText('"seed": 7').isVisible()).toBe(true);
});

it("a browser without scripts shows the page of a status link, which loads itself again until the result is there", async () => {
  await serve("elsewhere");
  const { id, status_url } = await registered();
  const page = await openStatus({ javaScriptEnabled: false });
  await page.goto(status_url);
  await page.getByRole("heading", { name: "Your result is on its way" }).waitFor();
  const output = { urls: [`${upstream.origin}/fox.png`] };
  await relay.client.ask("POST", "/v1/events", { id, status: "completed", output });
  await page.getByRole("link", { name: "Open the picture" }).waitFor();
  expect(await page.locator("noscript").count()).toBe(0);
});

it.each(VIEWS)(
  "the page of a status link shows how far a task is and since when, and then, without a reload, why it has failed (%s)",
  async (_, context) => {
    await serve("elsewhere");
    const { id, status_url } = await registered();
    const page = await openStatus(context);
    await page.goto(status_url);
    await page.getByText(/^Requested (?:now|\d+ s ago)$/).waitFor();
    await page.getByRole("progressbar", { name: "Progress" }).waitFor();
    await expectAccessible(page);
    const error = { code: "moderation", message: "The prompt names a person." };
    await relay.client.ask("POST", "/v1/events", { id, status: "failed", error });
    await page.getByRole("heading", { name: "There is no result" }).waitFor();
    await page.getByText("The service says: The prompt names a person.").waitFor();
    await expectAccessible(page);
  },
);

it.each(VIEWS)(
  "a status link that was not copied whole opens a page that says so in the name of the operator, without a link to the console (%s)",
  async (_, context) => {
    await serve("elsewhere");
    const { status_url } = await registered();
    const page = await openPage(relay.url, { context, expected: [/status of 401/] });
    await page.goto(status_url.slice(0, -1));
    await page.getByRole("heading", { name: "This link does not work" }).waitFor();
    await page.getByRole("banner").getByText("Fox & Films").waitFor();
    expect(await page.locator(`a[href^="/"]`).count()).toBe(0);
    await expectAccessible(page);
  },
);

it("by the keyboard alone a reader reaches the button for the file and opens the details on the page of a status link", async () => {
  await serve("elsewhere");
  const page = await openStatus();
  await page.goto(await completed("/fox.zip"));
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  for (const text of ["Open the file", "Details"]) {
    await vi.waitUntil(async () => {
      await page.keyboard.press("Tab");
      return (await focused()) === text;
    }, SOON);
  }
  await page.keyboard.press("Enter");
  expect(await page.getByText("seedance").isVisible()).toBe(true);
});
