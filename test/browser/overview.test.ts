import { afterAll, beforeAll, expect, it } from "vitest";
import type { Page } from "playwright-core";
import { LOCAL_VARS, OPERATOR_KEY } from "../process/harness/client.ts";
import { Workerd } from "../process/harness/workerd.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import type { TabOptions } from "./tab.ts";

let relay: Workerd;
beforeAll(async () => {
  relay = await Workerd.start({ vars: LOCAL_VARS });
});
afterAll(() => relay[Symbol.asyncDispose]());

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };

/** Writes the time of day in UTC. */
const clock = (ms: number) => new Date(ms).toISOString().slice(11, 19);

/** Opens the overview of an operator. */
async function openOverview(context: TabOptions["context"]): Promise<Page> {
  const page = await openPage(relay.url, {
    ...(context && { context }),
    expected: [/status of 501/],
  });
  await page.goto("/login");
  await page.getByLabel("Operator key or account key").fill(OPERATOR_KEY);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("No index is bound", { exact: true }).waitFor();
  return page;
}

it.each([
  ["light", "desktop", {}],
  ["dark", "phone", PHONE],
] as const)(
  "the overview is accessible in %s colours and not too wide for the screen of a %s",
  async (colorScheme, _screen, settings) => {
    const page = await openOverview({ ...settings, colorScheme });
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
  },
);

it("keyboard shortcuts open the help, the search box and other pages, except while they are switched off or an input field has the focus", async () => {
  const page = await openOverview({});
  const help = page.getByRole("dialog", { name: "Keyboard" });
  await page.keyboard.press("?");
  await help.waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel("Keys work while no field has the focus").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  expect(await help.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Keyboard and help" }).click();
  await page.getByLabel("Keys work while no field has the focus").check();
  await help.getByRole("button", { name: "Close" }).click();
  await page.keyboard.press("/");
  await page.keyboard.type("?gt");
  expect(await page.getByRole("searchbox").inputValue()).toBe("?gt");
  await page.getByRole("searchbox").blur();
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.waitForURL("**/tasks");
});

it("times are those of the reader's zone until UTC is chosen, which the next page remembers", async () => {
  const page = await openOverview({ timezoneId: "Asia/Kolkata" });
  const time = page.locator("main time").first();
  const at = Date.parse((await time.getAttribute("datetime")) ?? "");
  expect(await time.textContent()).toContain(clock(at + 5.5 * 3_600_000));
  await page.locator(".topbar-end > [data-zone]").click();
  expect(await time.textContent()).toContain(clock(at));
  await page.reload();
  expect(await page.locator(".topbar-end > [data-zone]").textContent()).toBe("UTC");
});

it("the overview is refreshed in place after half a minute and keeps an open dialog", async () => {
  const page = await openOverview({});
  await page.clock.install();
  await page.reload();
  const looked = page.locator("#problems time").first();
  const before = await looked.getAttribute("datetime");
  await page.getByRole("button", { name: "API", exact: true }).click();
  await expect
    .poll(
      async () => {
        await page.clock.fastForward(31_000);
        return looked.getAttribute("datetime");
      },
      { timeout: 20_000, interval: 1_000 },
    )
    .not.toBe(before);
  expect(await page.getByRole("dialog", { name: "The same from the API" }).isVisible()).toBe(true);
});
