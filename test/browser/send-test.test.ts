import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { Receiver } from "../process/harness/receiver.ts";
import { type Relay, startRelay } from "../process/harness/relay.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";

let relay: Relay;
let receiver: Receiver;
beforeAll(async () => {
  relay = await startRelay({ vars: LOCAL_VARS });
  receiver = await Receiver.start();
  await relay.client.ask("POST", "/v1/accounts", { id: "acme" });
});
afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

it.each([
  ["light", "desktop", { viewport: { width: 1280, height: 800 } }],
  ["dark", "phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const)(
  "the console's page for test callbacks (%s colours, %s) sends a test callback signed for the chosen account, and shows its request and the receiver's answer",
  async (colorScheme, _screen, settings) => {
    const url = receiver.at(`/${colorScheme}`, { kind: "answer", status: 503 });
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, `/test?account=acme&url=${encodeURIComponent(url)}`);
    await page.getByLabel("Result of the sample").selectOption("failed");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const outcome = page.locator("#outcome");
    await outcome.waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    const post = receiver.posts.at(-1);
    const shown = await outcome.innerText();
    expect(shown).toMatch(/rejected\s+503/);
    expect(shown).toContain(`webhook-signature: ${post?.headers["webhook-signature"]}`);
    expect(shown).toContain('"status":"failed"');
    if (post !== undefined) (await relay.client.verifier("/v1/accounts/acme"))(post);
  },
);
