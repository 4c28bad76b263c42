import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { Receiver } from "../process/harness/receiver.ts";
import { type Relay, startRelay } from "../process/harness/relay.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";

/** Value of a header, which no page may contain. */
const VALUE = "planted-header-value-8kd3";
const TAKEN = { kind: "answer", status: 204 } as const;
const OPERATE_KEY = "browser-test-operate-key";
const Created = z.object({ key: z.string() });

let relay: Relay;
let receiver: Receiver;

beforeAll(async () => {
  const keys = `${LOCAL_VARS.OPERATOR_KEYS} operate:${OPERATE_KEY}`;
  relay = await startRelay({ vars: { ...LOCAL_VARS, OPERATOR_KEYS: keys } });
  receiver = await Receiver.start();
  for (const id of ["acme", "other"]) await relay.client.ask("POST", "/v1/accounts", { id });
});
afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** Creates an endpoint by the API. */
async function putEndpoint(path: string, settings: object): Promise<void> {
  const { status } = await relay.client.ask("PUT", path, settings);
  expect(status).toBe(201);
}

async function aKey(account: string, role: "full" | "read"): Promise<string> {
  const { json } = await relay.client.ask("POST", `/v1/accounts/${account}/keys`, { role });
  return Created.parse(json).key;
}

/** Returns a function that returns the texts of all pages that the browser has got so far. */
function recordPages(page: Page): () => Promise<readonly string[]> {
  const texts: Promise<string>[] = [];
  page.on("response", (response) => {
    const isPage = response.headers()["content-type"]?.startsWith("text/html") === true;
    if (isPage) texts.push(response.text());
  });
  return () => Promise.all(texts);
}

async function expectSound(page: Page): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  expect(await isTooWide(page)).toBe(false);
}

function store(page: Page): Promise<void> {
  return page.getByRole("button", { name: "Store" }).click();
}

/** Sends a test from the page of an endpoint, and returns the request that the receiver got. */
async function sendTest(page: Page) {
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.locator("#outcome").getByText("delivered").waitFor();
  return receiver.posts.at(-1);
}

it.each([
  ["light", "desktop", { viewport: { width: 1280, height: 800 } }],
  ["dark", "phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const)(
  "the console's pages of endpoints are accessible in %s colours and not too wide for the screen of a %s",
  async (colorScheme, screen, settings) => {
    const path = `/v1/accounts/acme/endpoints/${screen}`;
    const url = receiver.at(`/${screen}`, TAKEN);
    await putEndpoint(path, { url, schedule_s: "day", headers: { "X-A": "1" }, own_secret: true });
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, "/endpoints");
    const own = "/accounts/acme/endpoints";
    for (const shown of ["/endpoints", "/accounts/acme", `${own}/_new`, `${own}/${screen}`]) {
      await page.goto(shown);
      await expectSound(page);
    }
    for (const dialog of ["Delete", "Pause…", "Rotate"]) {
      await page.goto(`${own}/${screen}`);
      await page.getByRole("button", { name: dialog, exact: true }).click();
      await page.locator("dialog[open]").waitFor();
      await expectSound(page);
    }
  },
);

it("in the console, an account creates an endpoint, is told of faults next to their fields, tests it, changes and deletes it, and no page has the value of its header", async () => {
  const page = await openPage(relay.url, { expected: [/status of 400/] });
  const pages = recordPages(page);
  await logIn(page, "/accounts/acme", await aKey("acme", "full"));
  await page.getByRole("link", { name: "Create an endpoint" }).click();
  await page.getByLabel("Name").fill("orders");
  await page.getByLabel("URL").fill("ftp://a.example/");
  await page.getByLabel("Waits before the attempts").fill("day");
  await page.getByLabel("Headers").fill(`Authorization: Bearer ${VALUE}\nX-Tenant: ${VALUE}`);
  await page.getByLabel("Signed with").selectOption("a secret of its own");
  await store(page);
  await page.locator("#url-issue").waitFor();
  await expectSound(page);
  expect(await page.getByLabel("Headers").inputValue()).toBe("Authorization: \nX-Tenant: ");
  await page.getByLabel("URL").fill(receiver.at("/orders", TAKEN));
  await store(page);
  await page.getByText("Authorization must be printable ASCII").waitFor();
  await page.getByLabel("Headers").fill(VALUE);
  await store(page);
  await page.getByText("line 1 must be a name, a colon and a value").waitFor();
  await page.getByLabel("Headers").fill(`Authorization: Bearer ${VALUE}`);
  await store(page);
  await page.getByText("Stored. It holds for tasks that are created from now on").waitFor();
  expect(await page.locator(".waits li").allInnerTexts()).toEqual([
    "1 at once",
    "2 5 s later",
    "3 5 min later (5 min 5 s in all)",
    "4 30 min later (35 min 5 s in all)",
    "5 2 h later (2 h 35 min in all)",
    "6 5 h later (7 h 35 min in all)",
    "7 10 h later (17 h 35 min in all)",
    "8 10 h later (1 d 3 h in all)",
  ]);
  expect(await page.getByText("8 attempts within 1 d 3 h").isVisible()).toBe(true);
  const sent = await sendTest(page);
  expect(sent?.headers["authorization"]).toBe(`Bearer ${VALUE}`);
  expect(await page.locator("#outcome").innerText()).toContain("Authorization: …");
  expect(await page.getByRole("button", { name: "Rotate" }).count()).toBe(0);

  await page.goto("/accounts/acme/endpoints/_new");
  await page.getByLabel("Name").fill("orders");
  await page.getByLabel("URL").fill(receiver.origin);
  await store(page);
  await page.getByText("is the name of an endpoint already").waitFor();

  await page.goto("/accounts/acme");
  expect(await page.locator("#endpoint-orders").innerText()).toContain("Authorization");
  await page.getByRole("link", { name: "orders", exact: true }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog[open]").getByRole("button", { name: "Delete" }).click();
  await page.getByText("The endpoint is deleted.").waitFor();
  expect(await page.locator("#endpoint-orders").count()).toBe(0);
  expect((await pages()).filter((text) => text.includes(VALUE))).toEqual([]);
});

it("the console's page of a task names its endpoint and the endpoint's headers, and shows the value of none", async () => {
  const url = receiver.at("/shown", TAKEN);
  await putEndpoint("/v1/accounts/acme/endpoints/shown", { url, headers: { "X-Token": VALUE } });
  const output = { urls: ["https://cdn.example.com/a.mp4"] };
  const [id, task] = [crypto.randomUUID(), { account: "acme", callback_url: "endpoint:shown" }];
  const event = { id, model: "m", status: "completed", output, ...task };
  await relay.client.ask("POST", "/v1/events", event);
  const page = await openPage(relay.url);
  const pages = recordPages(page);
  await logIn(page, `/tasks/${id}`);
  await page.getByText(`${url} of the endpoint shown`).waitFor();
  await page.locator("#seen").getByText("X-Token: …").waitFor();
  await page.getByText("Sent with headers of the endpoint (X-Token)").waitFor();
  await expectSound(page);
  expect((await pages()).filter((text) => text.includes(VALUE))).toEqual([]);
});

it("without scripts, an operator changes an endpoint of an account and keeps its headers, which stay only with its URL, and then removes them", async () => {
  const url = receiver.at("/kept", TAKEN);
  await putEndpoint("/v1/accounts/acme/endpoints/kept", { url, headers: { "X-Token": VALUE } });
  const context = { javaScriptEnabled: false };
  const page = await openPage(relay.url, { context, expected: [/status of 400/] });
  const pages = recordPages(page);
  await logIn(page, "/accounts/acme/endpoints/kept", OPERATE_KEY);
  await page.getByLabel("failed", { exact: true }).uncheck();
  await page.getByLabel("Waits before the attempts").fill("5, 60");
  await store(page);
  await page.getByText("2 attempts within 1 min 5 s").waitFor();
  expect(await page.locator(".waits li").first().innerText()).toBe("1 5 s after the task");
  expect((await sendTest(page))?.headers["x-token"]).toBe(VALUE);
  expect(await page.getByLabel("failed", { exact: true }).isChecked()).toBe(false);

  await page.getByLabel("URL").fill(`${url}/elsewhere`);
  await store(page);
  await page.getByText("can be true only when").waitFor();
  await page.getByLabel("Headers", { exact: true }).selectOption("");
  await page.getByLabel("URL").fill(url);
  await store(page);
  await page.getByText("Stored. It holds for tasks").waitFor();
  expect(await sendTest(page)).not.toHaveProperty(["headers", "x-token"]);
  expect((await pages()).filter((text) => text.includes(VALUE))).toEqual([]);
});

it("in the console, an account sees neither the endpoints of another account nor those of the relay, and with a key of the role read none", async () => {
  const [url, path] = [receiver.origin, "/v1/accounts/other/endpoints/hidden"];
  await putEndpoint(path, { url });
  await putEndpoint("/v1/endpoints/hidden", { url });
  const page = await openPage(relay.url, { expected: [/status of 40[34]/] });
  await logIn(page, "/accounts/acme", await aKey("acme", "full"));
  expect(await page.getByText("hidden").count()).toBe(0);
  const statuses = [
    "/accounts/other/endpoints/hidden",
    "/accounts/other/endpoints/_new",
    "/endpoints/hidden",
    "/endpoints",
  ].map(async (shown) =>
    (await page.request.get(shown, { headers: { Accept: "text/html" } })).status(),
  );
  expect(await Promise.all(statuses)).toEqual([404, 404, 403, 403]);
  const sent = await page.request.post("/accounts/other/endpoints/hidden/test", {
    headers: { Accept: "text/html", "Sec-Fetch-Site": "same-origin" },
    form: { status: "completed" },
  });
  expect(sent.status()).toBe(404);
  expect(receiver.postsAt("/")).toEqual([]);

  const reader = await openPage(relay.url);
  await logIn(reader, "/accounts/acme", await aKey("acme", "read"));
  expect(await reader.getByRole("heading", { name: "Endpoints" }).count()).toBe(0);
});

it("in the console, an operator rotates the secret of an endpoint, and pauses and resumes its host from its page", async () => {
  const url = receiver.at("/paused", TAKEN);
  await putEndpoint("/v1/accounts/acme/endpoints/rotated", { url, own_secret: true });
  const page = await openPage(relay.url, { expected: [/status of 409/] });
  await logIn(page, "/accounts/acme/endpoints/rotated");
  await page.getByRole("button", { name: "Rotate" }).click();
  await page.locator("dialog[open]").getByRole("button", { name: "Rotate" }).click();
  await page.getByText("There is a new secret.").waitFor();
  expect(await page.locator(".masked").count()).toBe(2);

  await page.getByRole("button", { name: "Pause…" }).click();
  await page.locator("dialog[open]").getByLabel("For").selectOption("1 hour");
  await page.locator("dialog[open]").getByRole("button", { name: "Pause" }).click();
  await page.getByText("Callbacks to the host rest until then").waitFor();
  expect(new URL(page.url()).pathname).toBe("/accounts/acme/endpoints/rotated");
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("are paused until").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause…" }).waitFor();
  await sendTest(page);
});

it("the console's page of a host names the endpoints whose URL leads to the host, of accounts and of the relay, and links to them", async () => {
  const own = await Receiver.start();
  const url = own.at("/", TAKEN);
  await putEndpoint("/v1/accounts/other/endpoints/shop", { url });
  await putEndpoint("/v1/endpoints/back-office", { url });
  const tasks = [
    { account: "other", callback_url: "endpoint:shop" },
    { callback_url: "endpoint:back-office" },
  ];
  for (const task of tasks) {
    const output = { urls: ["https://cdn.example.com/a.mp4"] };
    const event = { id: crypto.randomUUID(), model: "m", status: "completed", output, ...task };
    await relay.client.ask("POST", "/v1/events", event);
  }
  const { host } = new URL(url);
  const page = await openPage(relay.url);
  await logIn(page, "/hosts", OPERATE_KEY);
  await page.getByRole("link", { name: "Endpoints of the relay" }).click();
  expect(await page.locator("#endpoint-back-office").innerText()).toContain(host);
  const panel = page.locator("section", { hasText: "Endpoints at this host" });
  for (let tries = 0; tries < 100 && (await panel.locator("li").count()) < 2; tries++) {
    await sleep(100);
    await page.goto(`/hosts/${host}`);
  }
  expect((await panel.locator("li").allInnerTexts()).toSorted()).toEqual([
    "back-office of the relay",
    "shop of other",
  ]);
  await page.getByRole("link", { name: "shop" }).click();
  await page.getByRole("heading", { name: "shop" }).waitFor();
  await own[Symbol.asyncDispose]();
});
