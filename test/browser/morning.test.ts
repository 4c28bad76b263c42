import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { Receiver } from "../process/harness/receiver.ts";
import { WranglerDev } from "../process/harness/wrangler-dev.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";

const SCREENS = [
  ["light", "desktop", { viewport: { width: 1280, height: 800 } }],
  ["dark", "phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const;
const REFUSAL = "the disk of this receiver is full";
/** Limit of waits for rows of tasks in the index. */
const LISTED = { timeout: 60_000, interval: 1_000 };
const CONNECTIONS = JSON.stringify({
  "ark-a": { provider: "ark", key: "test-only-ark-key", in_flight: 5 },
});

let relay: WranglerDev;
let receiver: Receiver;
/** URL of the receiver, which refuses every callback. */
let hook: string;

/** Registers a task of the connection `ark-a`, and reports its end. */
async function end(result: object): Promise<void> {
  const id = crypto.randomUUID();
  const order = { id, model: "seedance", provider: "ark-a", callback_url: hook };
  await relay.client.ask("POST", "/v1/tasks", order);
  await relay.client.ask("POST", "/v1/events", { id, ...result });
}

beforeAll(async () => {
  receiver = await Receiver.start();
  hook = receiver.at("/hook", { kind: "answer", status: 507, body: REFUSAL });
  const PUBLIC_URL = "https://relay.example.com";
  const vars = { ...LOCAL_VARS, PUBLIC_URL, CONNECTIONS, CALLBACK_SCHEDULE_S: "0" };
  relay = await WranglerDev.start({ vars });
  for (let task = 0; task < 2; task++) {
    await end({ status: "completed", output: { urls: ["https://cdn.example.com/video.mp4"] } });
  }
  for (let task = 0; task < 3; task++)
    await end({ status: "failed", error: { code: "no_gpu", message: "No GPU" } });
  await vi.waitFor(async () => {
    const { json } = await relay.client.ask("GET", "/v1/tasks?callback=failed&count=true");
    expect(json).toMatchObject({ count: 5 });
  }, LISTED);
  await fetch(`${relay.url}/cdn-cgi/handler/scheduled?cron=*/10+*+*+*+*`);
}, 180_000);

afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

it.each(SCREENS)(
  "the console's overview is accessible in %s colours, fits the screen of a %s, and shows an upstream that fails, its times and its places",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page);
    await page.getByText("As a table").first().click();
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    expect(await page.locator("#upstream-ark-a").innerText()).toMatch(
      /ark-a\s+fails[\s\S]*3, 60\.0 %[\s\S]*0 of 5 taken/,
    );
    expect(await page.getByRole("heading", { level: 1 }).innerText()).not.toContain("All quiet");
  },
);

it.each(SCREENS)(
  "the console's page of attempts is accessible in %s colours, fits the screen of a %s, and shows the request of an attempt beside the answer",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, "/attempts");
    const rows = page.locator("tr[id^=attempt-]");
    expect(await rows.count()).toBe(5);
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    await rows.first().getByRole("link").first().focus();
    await page.keyboard.press("Enter");
    const panel = page.locator("#attempt");
    await panel.waitFor();
    expect(await panel.innerText()).toMatch(
      new RegExp(
        `Request, byte for byte[\\s\\S]*X-Task-Id[\\s\\S]*HTTP 507[\\s\\S]*${REFUSAL}`,
        "i",
      ),
    );
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    await panel.getByRole("link", { name: "Close" }).click();
    await panel.waitFor({ state: "detached" });
  },
);

it("the filters of the console's page of attempts find the attempts to a host by their status", async () => {
  const page = await openPage(relay.url, {});
  await logIn(page, "/attempts");
  await page.getByText("Filters", { exact: true }).click();
  await page.getByLabel("Status of the last attempt").fill("200");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByText("No attempt", { exact: true }).waitFor();
  await page.getByText("Filters: status code 200").click();
  await page.getByLabel("Status of the last attempt").fill("507");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.locator("tr[id^=attempt-]").nth(4).waitFor();
});
