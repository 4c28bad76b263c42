/**
 * Takes a screenshot of every page, or of the beginning of a long one, light, dark and on a phone, into
 * `dist/screenshots`. Takes only those pages whose names are given: `npm run screenshots -- task docs`. With
 * `readme`, takes instead the two pictures of the README, which needs three minutes.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { ROOT } from "../../process/harness/child.ts";
import { logIn } from "../log-in.ts";
import { closeBrowser, Tab } from "../tab.ts";
import { pagesOf, type ScreenshotPage } from "./pages.ts";
import { takeReadmePictures } from "./readme.ts";
import { SeededRelay } from "./seeded-relay.ts";

const DIRECTORY = join(ROOT, "dist/screenshots");
const WIDE = { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1.25 };
const NARROW = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 };
const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { ...WIDE, colorScheme: "light" },
  dark: { ...WIDE, colorScheme: "dark" },
  phone: { ...NARROW, colorScheme: "light", isMobile: true, hasTouch: true },
};

/**
 * Greatest height of a picture in pixels: Chromium repeats the beginning of a longer one
 * (https://github.com/puppeteer/puppeteer/issues/1576), and takes minutes for it on a busy machine.
 */
const MAX_HEIGHT = 16_384;

const names = process.argv.slice(2);
if (names.includes("readme")) await takeReadmePictures();
else await takeScreenshots();
await closeBrowser();

async function takeScreenshots(): Promise<void> {
  await using relay = await SeededRelay.start();
  const pages = pagesOf(relay).filter(({ name }) => names.length === 0 || names.includes(name));
  const known = new Set(pages.map(({ name }) => name));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`no page is called ${unknown.join(", ")}`);
  await mkdir(DIRECTORY, { recursive: true });
  const [own, open] = [
    pages.filter((page) => page.isLoggedIn),
    pages.filter((page) => !page.isLoggedIn),
  ];
  for (const [look, context] of Object.entries(LOOKS)) {
    const origins = [relay.upstream];
    const expected = [/status of 40[14]/];
    await using tab = await Tab.open(relay.url, { context, origins, expected });
    for (const page of open) await takeScreenshot(tab, page, look);
    await logIn(tab.page);
    for (const page of own) await takeScreenshot(tab, page, look);
  }
}

async function takeScreenshot(
  { page }: Tab,
  { name, path, prepare }: ScreenshotPage,
  look: string,
): Promise<void> {
  await page.goto(path);
  await prepare?.(page);
  const file = join(DIRECTORY, `${name}-${look}.png`);
  await page.screenshot({ path: file, fullPage: true, clip: await clipOf(page) });
  console.log(file);
}

/** Returns the part of a page that its picture shows: the whole page, or the beginning of a long one. */
async function clipOf(page: Page) {
  return page.evaluate((maxHeight) => {
    const { clientWidth: width, scrollHeight } = document.documentElement;
    return { x: 0, y: 0, width, height: Math.min(scrollHeight, maxHeight / devicePixelRatio) };
  }, MAX_HEIGHT);
}
