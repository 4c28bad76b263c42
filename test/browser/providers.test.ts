import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { Workerd } from "../process/harness/workerd.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";

const ARK_API_KEY = "a-key-of-ark-0123456789";
let relay: Workerd;
beforeAll(async () => {
  const vars = { ...LOCAL_VARS, ARK_API_KEY, RETENTION_DAYS: "14" };
  relay = await Workerd.start({ vars, hasIndex: false });
});
afterAll(() => relay[Symbol.asyncDispose]());

it.each([
  ["light", "desktop", { viewport: { width: 1280, height: 800 } }],
  ["dark", "phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const)(
  "the console's page of providers is accessible in %s colours, fits the screen of a %s, and shows connections and configuration without any API key",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, "/providers");
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    const row = (name: string) => page.locator(`#connection-${name}`).innerText();
    expect(await page.locator("#connection-fal").isVisible()).toBe(false);
    await page.getByText("without an API key").first().click();
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    expect(await row("ark")).toMatch(
      /ark\s.*\sset\s.*by their URL; a poll decides.*\scallback_url\s.*24 hours/s,
    );
    expect(await row("fal")).toMatch(/\smissing\s.*signed.*\s\?fal_webhook\s.*at least 7 days/s);
    expect(await row("runway")).toContain("none, polled");
    expect(await row("newapi")).toMatch(/NEWAPI_API_KEY and\s+NEWAPI_BASE_URL · takes no tasks/);
    await page.locator("#connection-ark").getByRole("link", { name: "a poll decides" }).click();
    expect(await page.getByText("the relay asks the provider at once").isVisible()).toBe(true);
    const targets = await page
      .locator("a[href^='#word-']")
      .evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
    expect(targets.length).toBeGreaterThan(10);
    for (const target of new Set(targets)) expect(await page.locator(target).count()).toBe(1);
    const text = await page.getByRole("main").innerText();
    expect(text).toContain("needs the index, and none is bound");
    expect(text).toContain("ALLOW_LOCAL_CALLBACKS is on: for development only");
    expect(text).toMatch(/RETENTION_DAYS\s+14\s/);
    expect(text).toMatch(/RELAY_SECRET\s+1 set/);
    expect(text).not.toContain("TASK_DEADLINE_HOURS");
    await page.getByText(/^All \d+ settings$/).click();
    expect(await page.locator("#all-settings").innerText()).toMatch(/TASK_DEADLINE_HOURS\s+72\s/);
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.content()).not.toContain(ARK_API_KEY);
  },
);
