import { afterAll, beforeAll, expect, it } from "vitest";
import type { Page } from "playwright-core";
import { LOCAL_VARS, OPERATOR_KEY } from "../process/harness/client.ts";
import { Workerd } from "../process/harness/workerd.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { setHidden } from "./refreshes.ts";
import type { TabOptions } from "./tab.ts";

let relay: Workerd;
beforeAll(async () => {
  relay = await Workerd.start({ vars: LOCAL_VARS, hasIndex: false });
});
afterAll(() => relay[Symbol.asyncDispose]());

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };

/** Writes the time of day in UTC. */
const clock = (ms: number) => new Date(ms).toISOString().slice(11, 19);

/** Opens the overview of an operator, and waits until its scripts have run. */
async function openOverview(context: TabOptions["context"]): Promise<Page> {
  const page = await openPage(relay.url, {
    ...(context && { context }),
    expected: [/status of 501/, /ERR_INTERNET_DISCONNECTED/],
  });
  await page.goto("/login");
  await page.getByLabel("Operator key or account key").fill(OPERATOR_KEY);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("No index is bound", { exact: true }).waitFor();
  await page.waitForLoadState("load");
  return page;
}

it.each([
  ["light", "desktop", {}],
  ["dark", "phone", PHONE],
] as const)(
  "the console's overview is accessible in %s colours and not too wide for the screen of a %s",
  async (colorScheme, _screen, settings) => {
    const page = await openOverview({ ...settings, colorScheme });
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
  },
);

it("no element of the console's overview moves when the reader prefers reduced motion", async () => {
  const page = await openOverview({ reducedMotion: "reduce" });
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll("*")].flatMap((element) => {
      const { animationName, transitionDuration } = getComputedStyle(element);
      return animationName === "none" && transitionDuration === "0s" ? [] : [element.className];
    }),
  );
  expect(moving).toEqual([]);
});

it("the console's keyboard shortcuts open help, search and pages, except when the user has switched them off or is typing in an input field", async () => {
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

it("the console shows times in the reader's time zone until the reader chooses UTC; after a reload the times are still in UTC", async () => {
  const page = await openOverview({ timezoneId: "Asia/Kolkata" });
  const time = page.locator("main time").first();
  const at = Date.parse((await time.getAttribute("datetime")) ?? "");
  expect(await time.textContent()).toContain(clock(at + 5.5 * 3_600_000));
  await page.locator(".topbar-end > [data-zone]").click();
  expect(await time.textContent()).toContain(clock(at));
  await page.reload();
  expect(await page.locator(".topbar-end > [data-zone]").textContent()).toBe("UTC");
});

it("after half a minute the console's overview is refreshed without a reload of the page, and an open dialog stays open", async () => {
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

it("the console's overview sends no request while its tab is hidden or its reader has been idle for half an hour, and is refreshed afterwards", async () => {
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

it("while the relay cannot be reached, the console's overview goes on showing its data and says of what time they are; afterwards it refreshes itself again", async () => {
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
