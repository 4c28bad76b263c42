/**
 * Takes a screenshot of every page, light, dark and on a phone, into `dist/screenshots`. Takes only those
 * pages whose names are given: `npm run screenshots -- docs-errors`.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContextOptions } from "playwright-core";
import { ROOT } from "../../process/harness/child.ts";
import { LOCAL_VARS } from "../../process/harness/client.ts";
import { Workerd } from "../../process/harness/workerd.ts";
import { closeBrowser, Tab } from "../tab.ts";
import { PAGES } from "./pages.ts";

const DIRECTORY = join(ROOT, "dist/screenshots");
const WIDE = { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1.25 };
const NARROW = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 };
const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { ...WIDE, colorScheme: "light" },
  dark: { ...WIDE, colorScheme: "dark" },
  phone: { ...NARROW, colorScheme: "light", isMobile: true, hasTouch: true },
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !PAGES.some((page) => page.name === name));
if (unknown.length > 0) {
  console.error(
    `no page is called ${unknown.join(", ")}; there are: ${PAGES.map((p) => p.name).join(", ")}`,
  );
  process.exit(2);
}
await mkdir(DIRECTORY, { recursive: true });
await using relay = await Workerd.start({ vars: LOCAL_VARS });
for (const [look, context] of Object.entries(LOOKS)) {
  await using tab = await Tab.open(relay.url, { context, expected: [/status of 40[14]/] });
  for (const { name, path, prepare } of PAGES) {
    if (names.length > 0 && !names.includes(name)) continue;
    await tab.page.goto(path);
    await prepare?.(tab.page);
    const file = join(DIRECTORY, `${name}-${look}.png`);
    await tab.page.screenshot({ path: file, fullPage: true });
    console.log(file);
  }
}
await closeBrowser();
