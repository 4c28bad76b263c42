import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { Workerd } from "../process/harness/workerd.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";

let relay: Workerd;
beforeAll(async () => {
  relay = await Workerd.start({ vars: LOCAL_VARS });
});
afterAll(() => relay[Symbol.asyncDispose]());

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };

it.each([
  ["/docs", "light", "desktop", {}],
  ["/docs", "dark", "phone", PHONE],
  ["/docs/errors", "light", "phone", PHONE],
  ["/docs/errors", "dark", "desktop", {}],
] as const)(
  "the page %s is accessible in %s colours and not too wide for the screen of a %s",
  async (path, colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    expect((await page.goto(path))?.status()).toBe(200);
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
  },
);

it("the filter of the API reference hides all entries without the typed words, also in the table of contents, until the filter is cleared", async () => {
  const page = await openPage(relay.url);
  await page.goto("/docs");
  const sections = page.locator("[data-entry]:visible");
  const all = await sections.count();
  await page.keyboard.press("/");
  await page.keyboard.type("Idempotency-Key REDELIVER");
  await expect.poll(() => sections.count()).toBe(3);
  expect(await page.locator("#redeliverTask").isVisible()).toBe(true);
  expect(await page.locator("#grantCredits").isVisible()).toBe(false);
  expect(await page.locator(".contents a[href='#grantCredits']").isVisible()).toBe(false);
  await page.keyboard.type(" nowhere-at-all");
  await expect.poll(() => page.getByText("Nothing on this page").isVisible()).toBe(true);
  await page.locator("[data-filter]").fill("");
  await expect.poll(() => sections.count()).toBe(all);
});

it("a click in the API reference at /docs copies an example; another switches between light and dark colours, also for the next page", async () => {
  const permissions = ["clipboard-read", "clipboard-write"];
  const page = await openPage(relay.url, { context: { colorScheme: "light", permissions } });
  await page.goto("/docs#readTask");
  await page.locator("#readTask .operation-code .copy").first().click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain(`curl -fsS ${relay.url}/v1/tasks/`);
  const colour = () =>
    page.evaluate(
      () => getComputedStyle(document.body.parentElement ?? document.body).backgroundColor,
    );
  const light = await colour();
  await page.locator("[data-theme-switch]").click();
  const dark = await colour();
  expect(dark).not.toBe(light);
  await page.goto("/docs/errors");
  expect(await colour()).toBe(dark);
});

it("the API reference at /docs can be read in a browser that runs no scripts", async () => {
  const page = await openPage(relay.url, { context: { javaScriptEnabled: false } });
  await page.goto("/docs#registerTask");
  expect(await page.locator("#registerTask pre").first().isVisible()).toBe(true);
  await page.locator("#registerTask label", { hasText: "200" }).click();
  expect(await page.locator("#registerTask .tab").first().isVisible()).toBe(true);
});
