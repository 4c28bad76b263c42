import { createHash } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { WranglerDev } from "../process/harness/wrangler-dev.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";
import { Refreshes, setHidden } from "./refreshes.ts";

const TASK = "0f8fad5b-d9cb-469f-a165-70867728950e";
const HOSTILE = `<script>alert(1)</script>\u202e"'`;
/** Limits of waits for requests of a page, and for the row of a task in the index. */
const SOON = { timeout: 20_000, interval: 20 };
const ROW_WRITTEN = { timeout: 60_000, interval: 1000 };
/** Time in milliseconds within which a visible page would send its next refresh. */
const NEXT_REFRESH_MS = 6_000;

let relay: WranglerDev;

beforeAll(async () => {
  relay = await WranglerDev.start({ vars: LOCAL_VARS });
  const orders = [
    ["", { id: "acme" }],
    ["", { id: "other" }],
    ["/acme/grants", { reference: HOSTILE, amount: 2500 }],
    ["/acme/adjustments", { reference: "goodwill", amount: -500, reason: HOSTILE }],
    ["/acme/keys", { label: HOSTILE, role: "read" }],
  ] as const;
  for (const [path, body] of orders) await relay.client.ask("POST", `/v1/accounts${path}`, body);
  const task = { id: TASK, model: "m", account: "acme", credits: 60 };
  await relay.client.ask("POST", "/v1/tasks", task);
});
afterAll(() => relay[Symbol.asyncDispose]());

const ledger = (page: Page) => page.locator("tr[id^=entry-]");

/** Opens a dialog by its button and returns it. */
async function opened(page: Page, button: string) {
  await page.getByRole("button", { name: button }).first().click();
  return page.locator("dialog[open]");
}

it.each([
  ["light", "desktop", { viewport: { width: 1280, height: 800 } }],
  ["dark", "phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const)(
  "the console's pages of accounts are accessible in %s colours and not too wide for the screen of a %s",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, "/accounts");
    for (const path of ["/accounts", "/accounts/acme"]) {
      await page.goto(path);
      expect(await violationsOf(page)).toEqual([]);
      expect(await isTooWide(page)).toBe(false);
    }
    for (const dialog of ["Rotate", "Change"]) {
      await page.goto("/accounts/acme");
      await opened(page, dialog);
      expect(await violationsOf(page)).toEqual([]);
    }
  },
);

it("on the page of an account, an operator changes its tags, low balance and monthly limit, and sees a fault next to its field", async () => {
  const page = await openPage(relay.url, { expected: [/status of 400/] });
  await logIn(page, "/accounts/other");
  const dialog = await opened(page, "Change");
  await dialog.getByLabel("Tags").fill("resellers, EU");
  await dialog.getByLabel("Monthly limit").fill("5000");
  await dialog.getByRole("button", { name: "Store" }).click();
  const again = page.getByRole("dialog", { name: "Settings of other" });
  await again.getByText("must be 1 to 40 of a-z 0-9 -").waitFor();
  expect(await again.getByLabel("Tags").getAttribute("aria-invalid")).toBe("true");
  await again.getByLabel("Tags").fill("resellers, eu");
  await again.getByRole("button", { name: "Store" }).click();
  await page.getByText("The settings are stored.").waitFor();
  const settings = page.locator("section", {
    has: page.getByRole("heading", { name: "Settings" }),
  });
  expect(await settings.locator("dd").allInnerTexts()).toEqual([
    "resellers, eu",
    "not watched",
    "5,000",
  ]);
  expect(await page.getByText("0 of 5,000").isVisible()).toBe(true);
});

it("the page of an account shows what it has spent by day and by model, to the account too, which sees no settings", async () => {
  const { json } = await relay.client.ask("POST", "/v1/accounts/acme/keys", { label: "shop" });
  const { key } = z.object({ key: z.string() }).parse(json);
  const page = await openPage(relay.url);
  await logIn(page, "/accounts/acme", key);
  await page.getByText("60 credits for 1 task, of which 0 failed").waitFor();
  expect(await page.locator("#model-0 td").allInnerTexts()).toEqual(["m", "60", "0", "1", "0"]);
  await page.getByText("As a table").first().click();
  expect(await page.locator(".details tbody tr").last().innerText()).toMatch(
    /60\s+0\s+1\s+0\s+1,940$/,
  );
  expect(await page.getByRole("main").innerText()).not.toContain("Settings");
});

it("the page of an account leads from the number of refunded tasks to the failed tasks of the account", async () => {
  await relay.client.ask("POST", "/v1/accounts", { id: "unlucky" });
  const grant = { reference: "first", amount: 9 };
  await relay.client.ask("POST", "/v1/accounts/unlucky/grants", grant);
  const id = crypto.randomUUID();
  const task = { id, model: "m", account: "unlucky", credits: 5 };
  await relay.client.ask("POST", "/v1/tasks", task);
  const error = { code: "gone", message: "Gone." };
  await relay.client.ask("POST", "/v1/events", { id, status: "failed", error });
  const page = await openPage(relay.url);
  await logIn(page, "/accounts/unlucky");
  const refunded = page.getByRole("link", { name: "1 failed and were refunded" });
  await expect
    .poll(async () => {
      await page.reload();
      return refunded.count();
    })
    .toBe(1);
  await refunded.click();
  await page.waitForURL(/\/tasks\?account=unlucky&status=failed&since=\d+$/);
});

it("in the console, an operator creates an account and grants it credits; the same grant sent again is not booked a second time", async () => {
  const page = await openPage(relay.url);
  await logIn(page, "/accounts");
  expect(await page.locator("#account-acme").innerText()).toContain("1,940");
  const create = await opened(page, "Create an account");
  await create.getByLabel("Id").fill("fresh");
  await create.getByRole("button", { name: "Create" }).click();
  await page.getByText("Nothing is booked yet.").waitFor();
  const grant = await opened(page, "Grant credits");
  const reference = await grant.getByLabel("Reference").inputValue();
  expect(reference).toMatch(/^console \d{4}-\d\d-\d\dT/);
  await grant.getByLabel("Credits").fill("300");
  await grant.getByRole("button", { name: "Grant" }).click();
  await page.getByText("The credits are booked.").waitFor();
  expect(await ledger(page).allInnerTexts()).toEqual([
    expect.stringMatching(new RegExp(`grant\\s+${reference}\\s+\\w+\\s+\\+300\\s+300$`)),
  ]);
  const again = await opened(page, "Grant credits");
  await again.getByLabel("Reference").fill(reference);
  await again.getByLabel("Credits").fill("300");
  await again.getByRole("button", { name: "Grant" }).click();
  await page.getByText("Nothing was booked again.").waitFor();
  expect(await ledger(page).count()).toBe(1);
});

it("in the console, the dialog that creates an account states the limit of its submissions, and that which creates a key all that a key with each role may do", async () => {
  const page = await openPage(relay.url);
  await logIn(page, "/accounts");
  const create = await opened(page, "Create an account");
  expect(await create.innerText()).toContain("submit at most 60 jobs a minute");
  expect(await violationsOf(page)).toEqual([]);
  await page.goto("/accounts/acme");
  const key = await opened(page, "Create a key");
  const role = key.getByLabel("Role");
  expect(await role.locator("option").allInnerTexts()).toEqual(["full", "read"]);
  const hint = await key.locator("#new-role-hint").innerText();
  expect(hint).toMatch(/^read may read the tasks.*\nfull may also submit what.*callbacks\.$/);
  expect(await role.getAttribute("aria-describedby")).toBe("new-role-hint");
  expect(await violationsOf(page)).toEqual([]);
});

it("the console says on its overview, and on no other page, that the relay is set up for development", async () => {
  const page = await openPage(relay.url);
  await logIn(page);
  const banner = page.getByText("ALLOW_LOCAL_CALLBACKS is on, which is for development only.");
  expect(await banner.count()).toBe(1);
  await page.goto("/accounts");
  expect(await banner.count()).toBe(0);
});

it("when the console refuses a grant, it shows the form again, with the typed values, and with the fault next to the wrong field", async () => {
  const page = await openPage(relay.url, { expected: [/status of 400/] });
  await logIn(page, "/accounts/other");
  const grant = await opened(page, "Grant credits");
  await grant.getByLabel("Reference").fill("invoice-7");
  await grant.getByLabel("Credits").fill("90000000000000000");
  await grant.getByRole("button", { name: "Grant" }).click();
  await page.waitForURL("**/accounts/other/grant");
  const again = page.getByRole("dialog", { name: "Grant credits to other" });
  const credits = again.getByLabel("Credits");
  expect(await credits.getAttribute("aria-invalid")).toBe("true");
  const described = (await credits.getAttribute("aria-describedby")) ?? "";
  expect(await page.locator(`[id="${described}"]`).innerText()).toContain("must be");
  expect(await again.getByLabel("Reference").inputValue()).toBe("invoice-7");
  expect(await violationsOf(page)).toEqual([]);
  await credits.fill("5");
  await again.getByRole("button", { name: "Grant" }).click();
  await page.getByText("The credits are booked.").waitFor();
});

it("the console's ledger shows the balance after each entry, links a charge to its task, and names invisible characters such as U+202E", async () => {
  const page = await openPage(relay.url);
  await logIn(page, "/accounts/acme");
  const cells = ledger(page).locator("td.number");
  expect(await cells.allInnerTexts()).toEqual(["−60", "1,940", "−500", "2,000", "+2,500", "2,500"]);
  expect(await ledger(page).getByRole("link").getAttribute("href")).toBe(`/tasks/${TASK}`);
  expect(await ledger(page).last().innerText()).toContain("<script>alert(1)</script>U+202E");
});

it("the console shows a new API key of an account once; a login with this key shows this account only, and stops working when the key is revoked", async () => {
  const page = await openPage(relay.url, { expected: [/status of 404/] });
  await logIn(page, "/accounts/other");
  const create = await opened(page, "Create a key");
  await create.getByLabel("Label").fill("production");
  await create.getByRole("button", { name: "Create" }).click();
  const made = page.getByRole("dialog", { name: "New API key of other" });
  const key = (await made.locator("pre").textContent()) ?? "";
  expect(key).toMatch(/^trk_/);
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "I have stored the key" }).click();
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  expect(await page.content()).not.toContain(key);

  const own = await openPage(relay.url, { expected: [/status of 40[134]/] });
  await logIn(own, "/accounts/other", key);
  for (const heading of ["Ledger", "API keys", "Callback secrets"]) {
    await own.getByRole("heading", { name: heading }).waitFor();
  }
  expect(await own.getByRole("main").getByRole("button").allInnerTexts()).not.toContain("Rotate");
  await own.goto("/accounts");
  expect(new URL(own.url()).pathname).toBe("/accounts/other");
  expect((await own.goto("/accounts/acme"))?.status()).toBe(404);

  const revoke = await opened(page, "Revoke");
  await revoke.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("The key is revoked.").waitFor();
  await own.goto("/accounts/other");
  await own.getByRole("heading", { name: "Log in" }).waitFor();
});

it("on the page of an account, the console imports an API key by its SHA-256 hash, shows the secret for signing callbacks only after a click, and rotates this secret", async () => {
  const page = await openPage(relay.url);
  await logIn(page, "/accounts/other");
  const imported = await opened(page, "Import by hash");
  const hash = createHash("sha256").update("a-key-of-another-system").digest("hex");
  await imported.getByLabel("SHA-256").fill(hash);
  await imported.getByRole("button", { name: "Import" }).click();
  await page.getByRole("cell", { name: `sha256:${hash.slice(0, 8)}…`, exact: true }).waitFor();
  const secret = page.locator(".masked").first();
  const shown = secret.locator("details > code");
  expect(await shown.isVisible()).toBe(false);
  await secret.locator("summary").click();
  expect(await shown.innerText()).toMatch(/^whsec_/);
  const rotate = await opened(page, "Rotate");
  await rotate.getByRole("button", { name: "Rotate" }).click();
  await page.getByText("Current (no. 2)").waitFor();
  expect(await page.getByText("Previous (no. 1)").isVisible()).toBe(true);
});

it("the overview that an account sees in the console shows a change of an open task without a reload, and has no request open while the browser tab is hidden", async () => {
  const { json } = await relay.client.ask("POST", "/v1/accounts/acme/keys", {});
  const page = await openPage(relay.url);
  await logIn(page, "/", z.object({ key: z.string() }).parse(json).key);
  const task = page.locator(`#account tr`, { hasText: TASK.slice(0, 8) });
  // The index has the row of an open task half a minute after the task.
  await expect.poll(() => page.reload().then(() => task.count()), ROW_WRITTEN).toBe(1);
  const refreshes = new Refreshes(page);
  await expect.poll(() => refreshes.open, SOON).toBe(1);
  await setHidden(page, true);
  await expect.poll(() => refreshes.brokenOff, SOON).toBe(1);
  const { sent } = refreshes;
  await page.waitForTimeout(NEXT_REFRESH_MS);
  expect([refreshes.sent, refreshes.open]).toEqual([sent, 0]);
  await setHidden(page, false);
  await expect.poll(() => refreshes.open, SOON).toBe(1);
  await relay.client.ask("POST", "/v1/events", { id: TASK, status: "processing" });
  await task.getByText("processing").waitFor();
}, 120_000);
