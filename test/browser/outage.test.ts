import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../process/harness/client.ts";
import { Receiver } from "../process/harness/receiver.ts";
import { WranglerDev } from "../process/harness/wrangler-dev.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import type { TabOptions } from "./tab.ts";

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
const TASKS = 12;
const Counted = z.object({ count: z.int() });

let relay: WranglerDev;
let receiver: Receiver;
let host = "";

beforeAll(async () => {
  relay = await WranglerDev.start({ vars: { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,1" } });
  receiver = await Receiver.start();
  host = new URL(receiver.origin).host;
});

afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** Waits until the index has so many tasks with these filters. */
async function untilListed(query: string, tasks: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const { json } = await relay.client.ask("GET", `/v1/tasks?count=true&${query}`);
    if (Counted.parse(json).count === tasks) return;
    await sleep(100);
  }
  throw new Error(`the index does not have ${tasks} tasks with ${query}`);
}

/** Opens a page of the console, logged in as the operator, and waits until its scripts have run. */
async function visit(path: string, options: TabOptions = {}): Promise<Page> {
  const page = await openPage(relay.url, options);
  await page.goto(path);
  await page.getByLabel("Operator key or account key").fill(OPERATOR_KEY);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("navigation", { name: "Console" }).waitFor();
  await page.waitForLoadState("load");
  return page;
}

async function expectSound(page: Page): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  expect(await isTooWide(page)).toBe(false);
}

it("in the console, an operator finds a host whose callbacks fail, sends it test callbacks, and redelivers each failed callback exactly once, even if the page is reloaded", async () => {
  const url = receiver.at("/hook", { kind: "answer", status: 503, body: "<b>down</b>\u202E" });
  const ids = await Promise.all(Array.from({ length: TASKS }, () => relay.client.finish(url)));
  await untilListed("callback=failed", TASKS);
  // The hourly counts go on containing these failed callbacks after they were delivered.
  await fetch(`${relay.url}/cdn-cgi/handler/scheduled`);
  const page = await visit("/hosts");
  expect(await page.getByRole("link", { name: host }).isVisible()).toBe(true);
  await expectSound(page);

  await page.goto("/");
  await page.getByRole("link", { name: "Why", exact: true }).click();
  await page.getByText("Callbacks fail: 503").waitFor();
  expect(await page.locator(".kind").textContent()).toContain("<b>down</b>U+202E");
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.locator(".step output", { hasText: "rejected 503" }).waitFor();
  await expectSound(page);

  receiver.at("/hook", { kind: "answer", status: 204 });
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.locator(".step output", { hasText: "delivered 204" }).waitFor();
  await page.getByRole("button", { name: "Send one again" }).click();
  await page.locator(".step output", { hasText: "delivered 204" }).waitFor();
  await page.getByLabel("Pace").selectOption("10");
  await untilListed("callback=failed", TASKS - 1);
  const half = await page.request.get(`/hosts/${encodeURIComponent(host)}`);
  expect(await half.text()).toContain(
    `Callbacks arrive again. ${TASKS - 1} failed callbacks left to send again.`,
  );
  await page.getByRole("button", { name: /^Send all 1[12] again$/ }).click();
  await page.getByText(/of 1[12] sent/).waitFor();
  await page.reload();
  await page.getByText("The bulk redelivery is complete.").waitFor();
  await expectSound(page);
  await untilListed("callback=delivered", TASKS);
  await page.getByText("No callback of this list is failed or being sent any more.").waitFor();
  await page.getByRole("link", { name: "Back to the host" }).click();
  await page.getByText("The host does not fail at present.").waitFor();
  expect(await page.getByRole("heading", { name: "Deliver again" }).count()).toBe(0);
  const sent = ids.map(
    (id) => receiver.posts.filter(({ headers }) => headers["x-task-id"] === id).length,
  );
  expect(sent).toEqual(ids.map(() => 3));
});

it("in the console's list of tasks one can filter, go to the next task with ] and back with [, and redeliver selected tasks; new tasks appear only after a click", async () => {
  const url = receiver.at("/list", { kind: "answer", status: 404 });
  const ids = await Promise.all(Array.from({ length: 3 }, () => relay.client.finish(url)));
  await untilListed("status_code=404", 3);
  const page = await visit("/tasks", { context: { ...PHONE, colorScheme: "dark" } });
  await expectSound(page);
  await page.keyboard.press("f");
  await page.waitForURL("**/tasks?callback=failed");
  await page.getByText("Filters").click();
  await page.getByLabel("Status code").fill("404");
  await page.getByRole("button", { name: "Filter" }).click();
  const rows = page.locator("[data-row]");
  await expect.poll(() => rows.count()).toBe(3);
  await page.getByText("Filters: callback failed, status code 404").waitFor();
  expect(await page.getByLabel("Status code").isVisible()).toBe(false);
  expect(await rows.first().isVisible()).toBe(true);

  const paths = await rows
    .getByRole("link")
    .evaluateAll((links) =>
      links.map((link) => link.getAttribute("href")).filter((path) => path?.startsWith("/tasks/")),
    );
  await rows.first().getByRole("link").first().click();
  await page.getByRole("link", { name: "Next task" }).click();
  await page.waitForURL(`**${paths[1]}`);
  await page.keyboard.press("]");
  await page.waitForURL(`**${paths[2]}`);
  await page.keyboard.press("[");
  await page.waitForURL(`**${paths[1]}`);
  await page.goto("/tasks?status_code=404");

  await relay.client.finish(url);
  await untilListed("status_code=404", 4);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.getByRole("link", { name: "1 new – show" }).waitFor();
  expect(await rows.count()).toBe(3);

  receiver.at("/list", { kind: "answer", status: 200 });
  await page.getByLabel("Select all shown").check();
  await page.getByText("3 of the 3 shown are selected.").waitFor();
  await page.getByLabel(`Select task ${ids[0]}`).uncheck();
  await page.getByText("2 of the 3 shown are selected.").waitFor();
  await page.getByRole("button", { name: "Send 2 again" }).click();
  await page.getByText("2 of 2 sent. The bulk redelivery is complete.").waitFor();
  await untilListed("status_code=404", 2);
  await page.goto("/tasks?model=unknown&since=86400&until=172800");
  await page.getByRole("heading", { name: "No task matches these filters" }).waitFor();
  await page.getByText("Filters: model unknown, created since").click();
  await page.getByRole("link", { name: "Any time" }).click();
  await page.waitForURL("**/tasks?model=unknown");
});

it("the console's dialog for redelivering many callbacks first shows their number and sends nothing when closed; a browser without scripts gets it as a page", async () => {
  const url = receiver.at("/dialog", { kind: "answer", status: 410 });
  const id = await relay.client.finish(url);
  await untilListed("status_code=410", 1);
  const page = await visit("/tasks?status_code=410");
  await page.keyboard.press("r");
  const dialog = page.getByRole("dialog", { name: "Send callbacks again" });
  await dialog.getByText("1 callback will be sent once more.").waitFor();
  await expectSound(page);
  await dialog.getByRole("link", { name: "Not now" }).click();
  expect([await page.getByRole("dialog").count(), new URL(page.url()).pathname]).toEqual([
    0,
    "/tasks",
  ]);

  const path = await page.getByRole("link", { name: "Send all that match" }).getAttribute("href");
  const plain = await visit(path ?? "", { context: { javaScriptEnabled: false } });
  await plain.getByRole("button", { name: "Send 1 again" }).click();
  await plain.getByText("1 of 1 sent. The bulk redelivery is complete.").waitFor();
  await untilListed("status_code=410", 1);
  expect(receiver.posts.filter(({ headers }) => headers["x-task-id"] === id)).toHaveLength(3);
});
