import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { Receiver } from "../process/harness/receiver.ts";
import { WranglerDev } from "../process/harness/wrangler-dev.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";
import type { TabOptions } from "./tab.ts";

const DESKTOP = { viewport: { width: 1_280, height: 900 } };
const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
const TASKS = 24;
const MODEL = "doubao-seedance-1-0-pro-250528";
const PRICE = 60;
const Counted = z.object({ count: z.int() });

let relay: WranglerDev;
let receiver: Receiver;

beforeAll(async () => {
  relay = await WranglerDev.start({
    vars: { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,0,0", ARK_API_KEY: "test-only-ark-key" },
  });
  receiver = await Receiver.start();
  const { client } = relay;
  await client.ask("POST", "/v1/accounts", { id: "acme" });
  await client.ask("POST", "/v1/accounts/acme/grants", { reference: "first", amount: 10_000 });
  const url = receiver.at("/orders", { kind: "answer", status: 503 });
  const createdS = Math.floor(Date.now() / 1_000) - 1_000;
  for (let number = 0; number < TASKS; number++) {
    const order = { account: "acme", credits: PRICE, provider: "ark", callback_url: url };
    const { id } = await client.register({ ...order, model: MODEL });
    await client.ask("POST", "/v1/events", { id, ...ended(number) });
  }
  // A task whose creation was stated, so that its duration is known.
  const stated = { id: randomUUID(), model: MODEL, created_at: createdS };
  await client.ask("POST", "/v1/events", { ...stated, ...ended(0) });
  await untilListed("callback=failed", TASKS);
});

afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** Returns the end of a task: every fourth one has failed. */
function ended(number: number): object {
  if (number % 4 === 3) return { status: "failed", error: { code: "blocked", message: "No." } };
  return { status: "completed", output: { urls: ["https://cdn.example.com/video.mp4"] } };
}

/** Waits until the index has so many tasks with these filters. */
async function untilListed(query: string, tasks: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const { json } = await relay.client.ask("GET", `/v1/tasks?count=true&${query}`);
    if (Counted.parse(json).count === tasks) return;
    await sleep(100);
  }
  throw new Error(`the index does not have ${tasks} tasks with ${query}`);
}

async function openList(context: TabOptions["context"] = {}, path = "/tasks"): Promise<Page> {
  const page = await openPage(relay.url, { context });
  await logIn(page, path);
  return page;
}

async function boxOf(place: Locator) {
  const box = await place.boundingBox();
  if (box === null) throw new Error("the element is not visible");
  return { ...box, bottom: box.y + box.height };
}

/** Returns the length of the bar of a task's duration, in pixels. */
function barOf(row: Locator): Promise<number> {
  return row.locator(".duration rect").evaluate((bar) => bar.getBoundingClientRect().width);
}

it.each(["light", "dark"] as const)(
  "in a window 900 pixels high, the console's list of tasks shows twenty tasks with their whole model, provider, account, duration, credits and time (%s)",
  async (colorScheme) => {
    const page = await openList({ ...DESKTOP, colorScheme }, "/tasks?callback=failed");
    const rows = page.locator("[data-row]");
    const twentieth = await boxOf(rows.nth(19));
    const bar = await boxOf(page.locator(".selection"));
    expect(twentieth.bottom).toBeLessThanOrEqual(bar.y);
    expect(bar.bottom).toBeLessThanOrEqual(900);
    const first = rows.first();
    expect(await first.innerText()).toContain(MODEL);
    const model = first.locator(".task-model");
    expect(await model.evaluate((cell) => cell.scrollWidth <= cell.clientWidth)).toBe(true);
    for (const text of ["ark", "acme", "×3"]) expect(await first.innerText()).toContain(text);
    expect(await page.getByRole("columnheader").allInnerTexts()).toEqual(
      "Task Status Callback Model Provider Account Duration Credits Created".split(" "),
    );
    expect(await isTooWide(page)).toBe(false);
    expect(await violationsOf(page)).toEqual([]);
  },
);

it("the console's list of tasks states what each task costs, which is nothing once its failure is refunded", async () => {
  const page = await openList(DESKTOP, "/tasks?status=failed");
  const costs = page.locator("[data-row] td:nth-last-child(2)");
  expect(new Set(await costs.allInnerTexts())).toEqual(new Set(["0"]));
  expect(await costs.first().locator("span").getAttribute("title")).toBe(`${PRICE} refunded`);
  await page.goto("/tasks?status=completed&account=acme");
  expect(new Set(await costs.allInnerTexts())).toEqual(new Set([String(PRICE)]));
});

it("the console's list of tasks states how long each job took, in figures and by a bar", async () => {
  const page = await openList(DESKTOP);
  const long = page.locator("[data-row]", { hasText: /16 min \d+ s/ });
  expect(await long.count()).toBe(1);
  const short = page.locator("[data-row]", { hasText: "< 1 s" }).first();
  expect(await barOf(long)).toBeGreaterThan(await barOf(short));
});

it.each(["light", "dark"] as const)(
  "on a phone, the console's list of tasks begins with the tasks, and the actions on several tasks come into view when one is selected (%s)",
  async (colorScheme) => {
    const page = await openList({ ...PHONE, colorScheme });
    const bar = page.locator(".selection");
    const rows = page.locator("[data-row]");
    expect((await boxOf(bar)).y).toBeGreaterThan((await boxOf(rows.last())).y);
    expect((await boxOf(rows.nth(2))).bottom).toBeLessThan(740);
    await rows.first().getByRole("checkbox").check();
    const rail = await boxOf(page.getByRole("navigation", { name: "Console" }));
    expect((await boxOf(bar)).bottom).toBeLessThanOrEqual(rail.y);
    expect(await page.getByRole("button", { name: "Send 1 again" }).isEnabled()).toBe(true);
    expect(await isTooWide(page)).toBe(false);
    expect(await violationsOf(page)).toEqual([]);
  },
);

it("in the console's list of tasks, the row that the key k moves to is not hidden behind the actions on selected tasks", async () => {
  const page = await openList(DESKTOP);
  await page.keyboard.press("k");
  const focused = await boxOf(page.locator("[data-row]:focus-within"));
  const bar = await boxOf(page.locator(".selection"));
  expect(focused.bottom).toBeLessThanOrEqual(bar.y);
});
