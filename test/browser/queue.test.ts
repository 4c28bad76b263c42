import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { Workerd } from "../process/harness/workerd.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";

const CONNECTIONS = JSON.stringify({
  "ark-a": { provider: "ark", key: "test-only-ark-key-a", in_flight: 5 },
  "ark-b": { provider: "ark", key: "test-only-ark-key-b", in_flight: 3 },
  "ark-all": { provider: "pool", of: ["ark-a", "ark-b"] },
});
const JOBS = 200;
const SCREENS = [
  ["light", "desktop", { viewport: { width: 1280, height: 800 } }],
  ["dark", "phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const;
const Queued = z.object({ id: z.string() });

let relay: Workerd;
/** Id of the task that came last, whose call the other connection has refused before. */
let lastTask = "";

beforeAll(async () => {
  relay = await Workerd.start({ vars: { ...LOCAL_VARS, CONNECTIONS }, entry: "queued-jobs.ts" });
  for (let job = 1; job <= JOBS; job++) {
    const account = job % 2 === 0 ? "acme" : "zenith";
    const body = { account, isRefused: job === JOBS };
    lastTask = Queued.parse((await relay.client.ask("POST", "/queued-jobs", body)).json).id;
  }
});
afterAll(() => relay[Symbol.asyncDispose]());

async function requireUsable(page: Page): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  expect(await isTooWide(page)).toBe(false);
}

it.each(SCREENS)(
  "with 200 jobs of two accounts at a connection with five places, the console's page of providers shows the places, who waits and a cool-down, in %s colours on a %s",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, "/providers");
    await requireUsable(page);
    const full = page.locator("#places-ark-a");
    expect(await full.innerText()).toMatch(
      /5 of 5.*195, the first came .*acme: 98, has 2 places.*zenith: 97, has 3 places/s,
    );
    const [all, held] = [full.locator(".places-all"), full.locator(".places-held")];
    expect((await held.boundingBox())?.width).toBe((await all.boundingBox())?.width);
    expect(await page.locator("#places-ark-b").innerText()).toMatch(
      /0 of 3.*nobody.*Key refused, .* try it again in \d+ min/s,
    );
  },
);

it.each(SCREENS)(
  "the console's page of a task that waits for a place shows its position, until when it waits and which attempt was refused, in %s colours on a %s",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, `/tasks/${lastTask}`);
    await page.getByText("It waits for a place, at position 195 of the queue.").waitFor();
    await requireUsable(page);
    const text = await page.getByRole("main").innerText();
    expect(text).toMatch(
      /waits for a place, at position 195 of the queue; sent by .* or not at all/,
    );
    expect(text).toMatch(/Refused attempts\s+ark-b .*: 401, key/);
  },
);
