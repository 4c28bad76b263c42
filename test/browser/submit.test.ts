import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { WranglerDev } from "../process/harness/wrangler-dev.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";

/** Time within which the sandbox answers with a picture, which takes it 20 s, and the page shows it. */
const PICTURE_WITHIN_MS = 45_000;
const FORM = {
  title: "Film",
  connection: "sandbox",
  path: "/jobs",
  models: ["sandbox/ok"],
  price: { credits: 60 },
  body: {
    type: "object",
    properties: {
      prompt: { type: "string", title: "Prompt" },
      seed: { type: "integer", minimum: 0, maximum: 9 },
      audio: { type: "boolean" },
      camera: {
        type: "object",
        properties: {
          lens: { type: "string", enum: ["wide", "long"] },
          tags: { type: "array", items: { type: "string" }, maxItems: 2 },
        },
        required: ["lens"],
      },
    },
    required: ["prompt", "camera"],
  },
};

let relay: WranglerDev;
let key: string;

beforeAll(async () => {
  relay = await WranglerDev.start({
    vars: (url) => ({ ...LOCAL_VARS, PUBLIC_URL: url, SANDBOX: "true" }),
    hasIndex: false,
    hasOutputs: true,
  });
  const { client } = relay;
  await client.ask("POST", "/v1/accounts", { id: "acme" });
  await client.ask("POST", "/v1/accounts/acme/grants", { reference: "first", amount: 150 });
  const { json } = await client.ask("POST", "/v1/accounts/acme/keys", {});
  ({ key } = z.object({ key: z.string() }).parse(json));
});
afterAll(() => relay[Symbol.asyncDispose]());

it("an operator offers the sandbox by one button, and the playground follows a picture of it from the form to the picture, on one page", async () => {
  const page = await openPage(relay.url);
  await logIn(page, "/submit");
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Offer the sandbox" }).click();
  await page.getByRole("link", { name: "Picture of the sandbox" }).click();
  await page.getByLabel("Prompt").fill("a fox\nin the snow");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.locator(".task-state").waitFor();
  expect(await page.getByLabel("Prompt").inputValue()).toBe("a fox\nin the snow");
  const picture = page.locator("img.output");
  await picture.waitFor({ timeout: PICTURE_WITHIN_MS });
  expect(await violationsOf(page)).toEqual([]);
}, 90_000);

it.each([
  ["light", "desktop", { viewport: { width: 1280, height: 800 } }],
  ["dark", "phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const)(
  "an account fills the form that the schema of an offer describes, sees a fault next to its field and then the result of its job (%s colours, %s)",
  async (colorScheme, _screen, settings) => {
    await relay.client.ask("PUT", "/v1/offers/film", { ...FORM, accounts: ["acme"] });
    const page = await openPage(relay.url, {
      context: { ...settings, colorScheme },
      expected: [/status of 400/],
    });
    await logIn(page, "/submit", key);
    await page.getByRole("link", { name: "Film" }).click();
    await page.getByLabel("Prompt").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel("Prompt").fill("a fox");
    await page.getByLabel("seed").fill("7");
    await page.getByLabel("audio").selectOption("true");
    const group = page.getByRole("group", { name: "camera" });
    await group.getByLabel("lens").selectOption("long");
    await group.getByLabel("tags").fill("a\nb\nc");
    await page.getByRole("button", { name: "Submit" }).click();
    await page.locator("[aria-invalid=true]").waitFor();
    expect(await group.getByLabel("tags").getAttribute("aria-invalid")).toBe("true");
    expect(await page.getByLabel("Prompt").inputValue()).toBe("a fox");
    expect(await group.getByLabel("lens").inputValue()).toBe('"long"');
    await group.getByLabel("tags").fill("a\nb");
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByRole("link", { name: "https://example.com/sandbox.mp4" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
  },
  60_000,
);

it("an account sees only its own offers on its page, and gets the same 404 for an offer for others as for none", async () => {
  const { client } = relay;
  await client.ask("PUT", "/v1/offers/secret", { ...FORM, title: "Secret", accounts: ["other"] });
  const page = await openPage(relay.url, { expected: [/status of 404/] });
  await logIn(page, "/submit", key);
  expect(await page.getByRole("main").innerText()).not.toContain("Secret");
  const texts = [];
  for (const path of ["/submit/secret", "/submit/absent"]) {
    expect((await page.goto(path))?.status()).toBe(404);
    texts.push(await page.getByRole("main").innerText());
  }
  const [secret, absent] = texts.map((text) =>
    text.replaceAll(/secret|absent|\b[\da-f-]{36}\b/g, ""),
  );
  expect(secret).toBe(absent);
});

it("an account without enough credits is told so in the form, which keeps what was typed", async () => {
  const { client } = relay;
  await client.ask("PUT", "/v1/offers/dear", {
    ...FORM,
    title: "Dear",
    accounts: ["acme"],
    models: ["sandbox/slow"],
    price: { credits: 100_000 },
  });
  const page = await openPage(relay.url, { expected: [/status of 402/] });
  await logIn(page, "/submit/dear", key);
  await page.getByLabel("Prompt").fill("a fox");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("alert").waitFor();
  expect(await page.getByRole("alert").innerText()).toContain("credits");
  expect(await page.getByLabel("Prompt").inputValue()).toBe("a fox");
});
