import type { Page } from "playwright-core";
import { beforeAll, afterAll, expect, it } from "vitest";
import { LOCAL_VARS, OPERATOR_KEY } from "../process/harness/client.ts";
import { LoopbackServer } from "../process/harness/loopback.ts";
import { type Relay, startRelay } from "../process/harness/relay.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";

let relay: Relay;
/**
 * Origin of the relay under the name localhost; for the browser, pages under 127.0.0.1 belong to another site.
 */
let origin = "";
/** Page of another site: a chat with a link to the relay, and a form that would log the reader out. */
let chat: LoopbackServer;

beforeAll(async () => {
  relay = await startRelay({ vars: LOCAL_VARS });
  origin = relay.url.replace("127.0.0.1", "localhost");
  chat = new LoopbackServer((_, response) => {
    response.setHeader("Content-Type", "text/html")
      .end(`<!doctype html><link rel="icon" href="data:,">
      <a href="${origin}/?from=chat">link</a>
      <form method="post" action="${origin}/logout"><button>log out</button></form>`);
  });
  await chat.listen();
});

afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await chat[Symbol.asyncDispose]();
});

/** Opens a page; answers with these statuses do not fail the test. */
function open(...statuses: readonly number[]): Promise<Page> {
  const expected = statuses.map((status) => new RegExp(`status of ${status}`));
  return openPage(origin, { origins: [chat.origin], expected });
}

async function logIn(page: Page, path = "/"): Promise<void> {
  await page.goto(path);
  await page.getByLabel("Operator key or account key").fill(OPERATOR_KEY);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}

it("the console's login page focuses the key field, refuses a wrong key and, given the right one, opens the requested page; a logout removes the cookie", async () => {
  const page = await open(401);
  await page.goto("/?since=1");
  expect(await page.locator("#key:focus").count()).toBe(1);
  await page.getByLabel("Operator key or account key").fill("a-wrong-key-0123456789");
  await page.getByRole("button", { name: "Log in" }).click();
  expect(await page.getByRole("alert").textContent()).toContain("neither an operator key");
  await page.getByLabel("Operator key or account key").fill(OPERATOR_KEY);
  await page.getByLabel("Operator key or account key").press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(page.url()).toBe(`${origin}/?since=1`);
  const [session] = await page.context().cookies();
  expect(session).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  await page.locator("details.menu summary").click();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  expect(await page.context().cookies()).toEqual([]);
});

it("a link on another site to a console page opens that page for a logged-in user, and the login page for anybody else", async () => {
  const page = await open();
  await page.goto(chat.origin);
  await page.getByRole("link").click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  expect(new URL(page.url()).searchParams.get("return_to")).toBe("/?from=chat");
  await page.context().clearCookies();
  await logIn(page);
  await page.goto(chat.origin);
  await page.getByRole("link").click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(page.url()).toBe(`${origin}/?from=chat`);
});

it("a form on another site that is sent to the console changes nothing", async () => {
  const page = await open(403);
  await logIn(page);
  await page.goto(chat.origin);
  await page.getByRole("button").click();
  await page.getByText("The form does not come from a page of this console.").waitFor();
  await page.goto("/");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});

it("when a user's login has ended, the next refresh of an open console page says so, and the page goes on showing its data", async () => {
  const page = await open(401);
  await logIn(page);
  await page.context().clearCookies();
  await page.evaluate(() => {
    const main = document.querySelector("main");
    if (main !== null) main.dataset["refresh"] = "1";
    document.dispatchEvent(new Event("visibilitychange"));
  });
  expect(await page.getByRole("alert").textContent()).toContain("Your login has ended.");
  expect(await page.getByRole("heading", { name: "Overview" }).isVisible()).toBe(true);
});

it("when the relay cannot be reached or the login has ended, a console form is not sent, says why, keeps the typed values, and can be sent after a login in another tab", async () => {
  const expected = [/status of 401/, /ERR_INTERNET_DISCONNECTED/];
  const page = await openPage(origin, { expected });
  const context = page.context();
  const send = page.getByRole("button", { name: "Send", exact: true });
  await logIn(page);
  await page.goto("/test");
  await page.getByLabel("URL", { exact: true }).fill("http://127.0.0.1:9/hook");
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "GET") asked.push(new URL(request.url()).pathname);
  });
  await context.setOffline(true);
  await send.click();
  await page.getByText("The relay does not answer. The form was not sent.").waitFor();
  await context.setOffline(false);
  await context.clearCookies();
  await send.click();
  const again = page.getByRole("link", { name: "Log in again" });
  await again.waitFor();
  expect(new Set(asked)).toEqual(new Set(["/login/check"]));
  const [other] = await Promise.all([context.waitForEvent("page"), again.click()]);
  await other.getByLabel("Operator key or account key").fill(OPERATOR_KEY);
  await other.getByRole("button", { name: "Log in" }).click();
  await other.getByRole("heading", { name: "Send a test" }).waitFor();
  await send.click();
  await page.locator("#outcome").getByText("POST http://127.0.0.1:9/hook").waitFor();
});

it("a browser transfers at most 30 KiB to show the console's login page, and at most 15 KiB more for the front page after the login", async () => {
  const page = await open();
  let bytes = 0;
  page.on("requestfinished", async (request) => {
    const { responseBodySize, responseHeadersSize } = await request.sizes();
    // The browser reports a negative size for a file from its cache.
    bytes += Math.max(0, responseBodySize) + responseHeadersSize;
  });
  await page.goto("/", { waitUntil: "networkidle" });
  const ofLogin = bytes;
  await logIn(page);
  await page.waitForLoadState("networkidle");
  expect(ofLogin).toBeLessThan(30 * 1024);
  expect(bytes - ofLogin).toBeLessThan(15 * 1024);
  // The lower limit shows that the files were loaded and measured after compression.
  expect(ofLogin).toBeGreaterThan(8 * 1024);
});

it.each(["light", "dark"] as const)(
  "the console's login page after a wrong key, and its page for an unknown URL, are accessible in %s colours and not too wide for a phone",
  async (colorScheme) => {
    const context = { colorScheme, viewport: { width: 360, height: 740 } };
    const page = await openPage(origin, { context, expected: [/status of 40[14]/] });
    await page.goto("/login");
    await page.getByLabel("Operator key or account key").fill("a-wrong-key-0123456789");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    await page.goto("/nowhere");
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
  },
);
