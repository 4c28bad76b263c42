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
    expected: [/status of 501/, /ERR_INTERNET_DISCONNECTED/],
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

/** Makes an open page believe that its tab is hidden or visible again. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

it("an overview asks the relay nothing while its tab is hidden or its reader away for half an hour, and is refreshed at their return", async () => {
  const page = await openOverview({});
  await page.clock.install();
  await page.reload({ waitUntil: "networkidle" });
  const live = page.locator("[data-live]");
  let asked = 0;
  page.on("request", () => (asked += 1));
  await setHidden(page, true);
  await page.clock.fastForward(10 * 60_000);
  expect(asked).toBe(0);
  await setHidden(page, false);
  await page.clock.runFor(100);
  await expect.poll(() => asked).toBe(1);
  await page.clock.fastForward(31 * 60_000);
  await page.clock.fastForward(10 * 60_000);
  expect([asked, await live.innerText()]).toEqual([1, "Idle"]);
  await page.keyboard.press("Shift");
  await page.clock.runFor(100);
  await expect.poll(() => asked).toBe(2);
  expect(await live.innerText()).toBe("Live");
});

it("an overview whose relay is lost keeps its data, says of which time they are, and is live again by itself when the relay is back", async () => {
  const page = await openOverview({});
  const live = page.locator("[data-live]");
  await page.context().setOffline(true);
  await setHidden(page, false);
  const lost = page.getByText(
    /^The relay does not answer\. What you see is of \d\d:\d\d:\d\d UTC\.$/,
  );
  await lost.waitFor();
  expect(await live.innerText()).toBe("No answer");
  expect(await page.getByRole("heading", { name: "Overview" }).isVisible()).toBe(true);
  expect(await violationsOf(page)).toEqual([]);
  await page.context().setOffline(false);
  await setHidden(page, false);
  await lost.waitFor({ state: "detached" });
  expect(await live.innerText()).toBe("Live");
});
