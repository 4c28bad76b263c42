import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { Receiver } from "../process/harness/receiver.ts";
import { Workerd } from "../process/harness/workerd.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";
import { Refreshes, setHidden } from "./refreshes.ts";
import type { TabOptions } from "./tab.ts";

/** Text by a third party that would run as a script, or reverse the direction of the text after it. */
const HOSTILE = '\u202e"><script>document.title = "owned"</script>';

/** Limits of waits for requests of a page. */
const SOON = { timeout: 20_000, interval: 20 };

let relay: Workerd;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await Receiver.start();
  const vars = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,7,1" };
  relay = await Workerd.start({ vars, hasIndex: false });
});

afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

async function registered(path: string, status: number, fields: object = {}): Promise<string> {
  const id = randomUUID();
  const callback_url = receiver.at(path, { kind: "answer", status });
  await relay.client.ask("POST", "/v1/tasks", { id, model: "seedance", callback_url, ...fields });
  return id;
}

function fail(id: string, message: string) {
  const error = { code: "moderation", message };
  return relay.client.ask("POST", "/v1/events", { id, status: "failed", error });
}

async function openTask(id: string, context: TabOptions["context"] = {}): Promise<Page> {
  const page = await openPage(relay.url, { context });
  await logIn(page, `/tasks/${id}`);
  return page;
}

it("the console's page of a task shows, without a reload and without an index database, how the task ends and its callback attempts fail; a redelivery then succeeds", async () => {
  const id = await registered("/watched", 503);
  const page = await openTask(id);
  await page.getByText("Waits for the result.").waitFor();
  await page.evaluate(() => (document.body.dataset["loaded"] = "once"));
  await fail(id, "Refused.");
  await page.getByText("Next: attempt 2 of 3").waitFor();
  await page.getByText("No further attempt is planned after 3 attempts.").waitFor();
  expect(await page.locator(".moment-attempt").count()).toBe(3);
  expect(await page.evaluate(() => document.body.dataset["loaded"])).toBe("once");

  await page.reload();
  await page.getByRole("button", { name: "Send again" }).click();
  await page
    .getByLabel("URL, which replaces")
    .fill(receiver.at("/mended", { kind: "answer", status: 204 }));
  await page.getByRole("button", { name: "Send now" }).click();
  await page.getByText("Delivered. Nothing is left to do.").waitFor();
  expect(await page.locator(".timeline").textContent()).toContain("Redelivery 1");
});

it("the console's page of an open task waits for a change in one request, ends the request when its tab is hidden, and sends it again when the tab is shown", async () => {
  const id = await registered("/hidden", 204);
  const page = await openTask(id);
  const refreshes = new Refreshes(page);
  await expect.poll(() => refreshes.open, SOON).toBe(1);
  const { sent } = refreshes;
  await setHidden(page, true);
  await expect.poll(() => refreshes.brokenOff, SOON).toBe(1);
  await fail(id, "Refused.");
  await relay.client.settled(id);
  expect([refreshes.sent, refreshes.open]).toEqual([sent, 0]);
  await setHidden(page, false);
  await page.getByText("Delivered. Nothing is left to do.").waitFor();
});

it.each([
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const)(
  "when a task's texts contain HTML, scripts and invisible characters, the console's page of the task is accessible, runs no script, and names these characters (%s)",
  async (_, context) => {
    const metadata = { note: HOSTILE };
    const id = await registered("/hostile", 500, { model: HOSTILE.slice(1), metadata });
    await fail(id, HOSTILE);
    const page = await openTask(id, context);
    await page.getByText("U+202E").first().waitFor();
    expect(await page.title()).toContain("Task");
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
  },
);

it("on the console's page of a task, one button copies a summary of the task for an incident report, and another shows the curl command that reads the task", async () => {
  const id = await registered("/copied", 204);
  const page = await openTask(id, { permissions: ["clipboard-read", "clipboard-write"] });
  await page.getByRole("button", { name: "Copy for the incident" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain(`Task ${id} (seedance): pending, callback waiting`);
  expect(copied).toContain(`${relay.url}/tasks/${id}`);
  await page.getByRole("button", { name: "API" }).click();
  await page.getByText(`curl -gfsS ${relay.url}/v1/tasks/${id}`).waitFor();
});

it("the signature check on a task's page in the console shows the callback's exact request, and says why the request that the reader has pasted does not verify", async () => {
  const id = await registered("/doctor", 204);
  await fail(id, "Refused.");
  await relay.client.settled(id);
  const page = await openTask(id);
  await page.getByText("byte for byte as sent").waitFor();
  const request = await page.locator("#seen pre").first().innerText();
  const [head = "", body = ""] = request.split("\n\n");
  await page.getByLabel("Headers").fill(head);
  await page
    .getByLabel("Body, exactly as received")
    .fill(JSON.stringify(JSON.parse(body), null, 2));
  await page.getByRole("button", { name: "Diagnose" }).click();
  await page.getByText("the same JSON in other bytes").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel("Body, exactly as received").fill(body);
  await page.getByRole("button", { name: "Diagnose" }).click();
  await page.getByText("The signature is valid").waitFor();
});

it("the console's page of a task shows its result above its timeline, offers first to send its callback again only when that has failed, and keeps the order to erase it in a menu", async () => {
  const [delivered, failed] = [
    await registered("/received", 204),
    await registered("/refused", 404),
  ];
  for (const id of [delivered, failed]) {
    await fail(id, "Refused.");
    await relay.client.settled(id);
  }
  const page = await openTask(delivered);
  const again = page.getByRole("button", { name: "Send again" });
  const tops = await page
    .locator("#life h2")
    .evaluateAll((titles) => titles.map((title) => title.textContent));
  expect(tops).toEqual(["Result", "Timeline", "Facts"]);
  expect(await again.getAttribute("class")).toBe("button");
  const erase = page.getByRole("button", { name: "Erase" });
  expect(await erase.isVisible()).toBe(false);
  const menu = page.locator("summary[aria-label='More actions']");
  await menu.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Erase the task" });
  await dialog.getByRole("button", { name: "Keep it" }).click();
  expect([await erase.isVisible(), await dialog.isVisible()]).toEqual([false, false]);
  expect(await menu.evaluate((button) => button === document.activeElement)).toBe(true);
  await menu.click();
  expect(await violationsOf(page)).toEqual([]);
  await erase.click();
  await dialog.getByRole("button", { name: "Erase for ever" }).click();
  await page.waitForURL("**/");
  await page.goto(`/tasks/${failed}`);
  expect(await again.getAttribute("class")).toBe("button button-main");
});

it("on a phone, the open menu of the console's page of a task is within the screen", async () => {
  const id = await registered("/menu", 204);
  await fail(id, "Refused.");
  await relay.client.settled(id);
  const page = await openTask(id, {
    viewport: { width: 360, height: 740 },
    isMobile: true,
    hasTouch: true,
  });
  await page.locator("summary[aria-label='More actions']").click();
  const box = await page.locator(".page-head .menu-list").boundingBox();
  expect(box?.x).toBeGreaterThanOrEqual(0);
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(360);
  expect(await isTooWide(page)).toBe(false);
});
