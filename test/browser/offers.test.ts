import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { WranglerDev } from "../process/harness/wrangler-dev.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";

const OFFER = {
  title: "Film",
  connection: "sandbox",
  path: "/jobs",
  models: ["sandbox/*"],
  limits: { "/duration": { max: 10, optional: true } },
  price: { credits: 60 },
};
const Offer = z.looseObject({ offer: z.looseObject({ price: z.unknown(), limits: z.unknown() }) });

let relay: WranglerDev;

beforeAll(async () => {
  relay = await WranglerDev.start({ vars: { ...LOCAL_VARS, SANDBOX: "true" }, hasIndex: false });
  await relay.client.ask("PUT", "/v1/offers/film", OFFER);
});
afterAll(() => relay[Symbol.asyncDispose]());

async function storedPrice(name: string): Promise<unknown> {
  const { json } = await relay.client.ask("GET", `/v1/offers/${name}`);
  return Offer.parse(json).offer.price;
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

it.each([
  ["light", "desktop", { viewport: { width: 1280, height: 800 } }],
  ["dark", "phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const)(
  "the console's pages of offers are accessible in %s colours and not too wide for the screen of a %s",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, "/offers");
    for (const path of ["/offers", "/offers/_new", "/offers/film"]) {
      await page.goto(path);
      expect(await violationsOf(page)).toEqual([]);
      expect(await isTooWide(page)).toBe(false);
    }
    await press(page, "Try");
    await page.locator("#trial").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
  },
  60_000,
);

it("on the page of an offer, an operator tries another price, stores it, and restores the earlier one", async () => {
  const page = await openPage(relay.url);
  await logIn(page, "/offers/film");
  await page.getByLabel("Price in credits").fill("45");
  await page.getByLabel("Body of the call").fill('{"model": "sandbox/ok", "duration": 5}');
  await press(page, "Try");
  const trial = page.locator("#trial");
  await trial.getByText("45 credits").first().waitFor();
  expect(await trial.innerText()).toContain("film, this one, because it is for all");
  expect(await trial.innerText()).toContain("/duration from 0 to 10, or left out");
  expect(await storedPrice("film")).toEqual({ credits: 60 });

  await page.getByLabel("Body of the call").fill('{"model": "sandbox/ok", "duration": 20}');
  await press(page, "Try");
  await trial.getByText("refused").waitFor();

  await press(page, "Store");
  await page.getByText("Stored. Within 60 seconds").waitFor();
  expect(await storedPrice("film")).toEqual({ credits: 45 });
  const versions = page.getByRole("table", { name: "Versions of the offer" });
  expect(await versions.locator("tbody tr").count()).toBe(2);

  await page.getByRole("button", { name: /^Restore version/ }).click();
  await page.getByText("Restored. Within 60 seconds").waitFor();
  expect(await storedPrice("film")).toEqual({ credits: 60 });
  expect(await page.getByLabel("Price in credits").inputValue()).toBe("60");
});

it("an operator creates an offer, and sees each fault next to its field, with the place in a field of JSON", async () => {
  const page = await openPage(relay.url, { expected: [/status of 400/] });
  await logIn(page, "/offers");
  await page.getByRole("link", { name: "New offer" }).click();
  await page.getByLabel("Name").fill("Clip");
  await page.getByLabel("Models").fill("sandbox/ok, sandbox/slow");
  await page.getByLabel("Connection").selectOption("sandbox");
  await page.getByLabel("Limits").fill('{"/duration": {"max": "ten"}, "seed": [1]}');
  await press(page, "Store");
  await page.getByText("must be at most 64 of a-z 0-9 -").waitFor();
  await page.getByLabel("Name").fill("clip");
  await press(page, "Store");
  await page.getByText("/duration.max must be a number").waitFor();
  expect(await page.getByLabel("Limits").getAttribute("aria-invalid")).toBe("true");
  await page.getByLabel("Limits").fill("{");
  await press(page, "Store");
  await page.getByText("must be JSON").waitFor();
  await page.getByLabel("Limits").fill('{"/duration": {"max": 10}}');
  await page.getByLabel("Price by usage").fill('{"hold": 80, "per": {"field": "duration"}}');
  await press(page, "Store");
  await page.getByText("per.units must be a number above 0").waitFor();
  await page.getByLabel("Price by usage").fill("");
  await page.getByLabel("Price in credits").fill("12");
  await press(page, "Store");
  await page.getByText("Stored. Within 60 seconds").waitFor();
  expect(await storedPrice("clip")).toEqual({ credits: 12 });
});

it("an operator who stores an offer that somebody else has changed in the meantime changes nothing, and keeps what was typed", async () => {
  const { client } = relay;
  await client.ask("PUT", "/v1/offers/shared", { ...OFFER, models: ["sandbox/late"] });
  const page = await openPage(relay.url, { expected: [/status of 412/] });
  await logIn(page, "/offers/shared");
  await client.ask("PUT", "/v1/offers/shared", {
    ...OFFER,
    models: ["sandbox/late"],
    price: { credits: 70 },
  });
  await page.getByLabel("Price in credits").fill("1");
  await press(page, "Store");
  await page.getByRole("alert").waitFor();
  expect(await page.getByLabel("Price in credits").inputValue()).toBe("1");
  expect(await storedPrice("shared")).toEqual({ credits: 70 });
});

it("an operator deletes an offer and restores it; a key of an account opens no page of offers", async () => {
  const { client } = relay;
  await client.ask("PUT", "/v1/offers/gone", { ...OFFER, models: ["sandbox/moderated"] });
  const page = await openPage(relay.url);
  await logIn(page, "/offers/gone");
  await press(page, "Delete");
  await page.locator("dialog[open]").getByRole("button", { name: "Delete" }).click();
  await page.getByText("The offer is deleted.").waitFor();
  expect(await page.locator("#offer-gone").count()).toBe(0);
  await page.goto("/offers/gone");
  await page.getByRole("button", { name: /^Restore version/ }).click();
  await page.getByText("Restored. Within 60 seconds").waitFor();
  expect(await storedPrice("gone")).toEqual({ credits: 60 });

  await client.ask("POST", "/v1/accounts", { id: "acme" });
  const { json } = await client.ask("POST", "/v1/accounts/acme/keys", {});
  const { key } = z.object({ key: z.string() }).parse(json);
  const own = await openPage(relay.url, { expected: [/status of 403/] });
  await logIn(own, "/submit", key);
  for (const path of ["/offers", "/offers/film", "/offers/_new", "/offers/none"]) {
    expect((await own.goto(path))?.status()).toBe(403);
  }
});
