import type { IncomingMessage, ServerResponse } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { LoopbackServer } from "../process/harness/loopback.ts";
import { type Relay, startRelay } from "../process/harness/relay.ts";
import { ARK_MODEL, ARK_TASKS } from "../process/submit/fake-ark.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";

const [KEY, REFUSED_KEY] = ["test-only-ark-key-a", "test-only-ark-key-b"] as const;
const JOBS = 200;
/** Number of the first job that finds the five places of `ark-a` taken, so that it goes to `ark-b`. */
const SIXTH = 6;
const SCREENS = [
  ["light", "desktop", { viewport: { width: 1280, height: 800 } }],
  ["dark", "phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const;
const Key = z.object({ key: z.string() });

let upstream: LoopbackServer;
let relay: Relay;
/** Ids of the tasks, in the order of their submissions. */
const tasks: string[] = [];

beforeAll(async () => {
  upstream = await new LoopbackServer(answerAsArk).listen();
  const own = { provider: "ark", base_url: upstream.origin };
  const CONNECTIONS = JSON.stringify({
    "ark-a": { ...own, key: KEY, in_flight: 5 },
    "ark-b": { ...own, key: REFUSED_KEY, in_flight: 1 },
    "ark-all": { provider: "pool", of: ["ark-a", "ark-b"] },
  });
  const OFFERS = JSON.stringify([{ connection: "ark-all", models: ["*"] }]);
  const PUBLIC_URL = "https://relay.example.com";
  const vars = { ...LOCAL_VARS, PUBLIC_URL, CONNECTIONS, OFFERS };
  relay = await startRelay({ vars, hasOutputs: true });
  const keys = [await keyOf("acme"), await keyOf("zenith")];
  for (let job = 1; job <= JOBS; job++) {
    tasks.push(await submit(job, keys[job % 2] ?? ""));
    if (job === SIXTH) await untilRefused(tasks.at(-1) ?? "");
  }
}, 180_000);

afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

/** Answers as Ark does: takes jobs, which never end, and refuses one of the two keys. */
function answerAsArk({ method, headers }: IncomingMessage, response: ServerResponse): void {
  const isKnown = headers.authorization === `Bearer ${KEY}`;
  const job = { id: `cgt-${crypto.randomUUID()}`, ...(method === "GET" && { status: "running" }) };
  const error = { code: "AuthenticationError", message: "The API key is not valid." };
  response.writeHead(isKnown ? 200 : 401, { "Content-Type": "application/json" });
  response.end(JSON.stringify(isKnown ? job : { error }));
}

async function keyOf(account: string): Promise<string> {
  await relay.client.ask("POST", "/v1/accounts", { id: account });
  const { json } = await relay.client.ask("POST", `/v1/accounts/${account}/keys`, { role: "full" });
  return Key.parse(json).key;
}

/** Submits a job whose caller does not wait. @returns the id of its task. */
async function submit(job: number, key: string): Promise<string> {
  const headers = {
    Authorization: `Bearer ${key}`,
    Prefer: "respond-async",
    "Idempotency-Key": `job-${job}`,
  };
  const body = { model: ARK_MODEL, content: [{ type: "text", text: `fox ${job}` }] };
  const path = `/v1/submit/ark-all${ARK_TASKS}`;
  const response = await relay.client.send("POST", path, body, { headers });
  if (response.status !== 202) throw new Error(await response.text());
  await response.arrayBuffer();
  return response.headers.get("Relay-Task-Id") ?? "";
}

/** Waits until the upstream has refused the call of a task. */
async function untilRefused(id: string): Promise<void> {
  const isRefused = async () =>
    (await relay.client.ask("GET", `/v1/tasks/${id}`)).text.includes('"attempts":[{"connection"');
  await vi.waitUntil(isRefused, { timeout: 20_000 });
}

/** Reloads the overview until the index has its first tasks, because before that it has no table of upstreams. */
async function untilIndexed(page: Page): Promise<void> {
  const isIndexed = async () => {
    await page.reload();
    return (await page.locator("#upstream-ark-b").count()) === 1;
  };
  await vi.waitUntil(isIndexed, { timeout: 30_000, interval: 500 });
}

async function requireUsable(page: Page): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  expect(await isTooWide(page)).toBe(false);
}

it.each(SCREENS)(
  "with 200 jobs of two accounts at a connection with five places, the console's page of providers shows the places, who waits and a cool-down, in %s colours on a %s",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, "/providers");
    await requireUsable(page);
    const full = page.locator("#places-ark-a");
    expect(await full.innerText()).toMatch(
      /5 of 5.*195, the first came .*acme: 98.*has 2 places.*zenith: 97.*has 3 places/s,
    );
    const [all, held] = [full.locator(".places-all"), full.locator(".places-held")];
    expect((await held.boundingBox())?.width).toBe((await all.boundingBox())?.width);
    expect(await page.locator("#places-ark-b").innerText()).toMatch(
      /0 of 1.*194, .*Key refused, .* try it again in \d+ min/s,
    );
  },
);

it.each(SCREENS)(
  "the overview marks the member of a pool whose key is refused, says that its tasks wait at each member, and leads to the connections, in %s colours on a %s",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, "/");
    await untilIndexed(page);
    await requireUsable(page);
    const problem = page.locator("li", { hasText: "refuses the API key of ark-b" });
    expect(await problem.innerText()).not.toContain("0 tasks");
    expect(await page.locator("#upstream-ark-b").innerText()).toMatch(/key refused.*wait/s);
    expect(await page.locator("#upstream-ark-a").innerText()).not.toContain("key refused");
    expect(await page.locator("#upstreams").innerText()).toContain("waits at each member");
    await problem.getByRole("link", { name: "Connections" }).click();
    await page.locator("#places-ark-b").waitFor();
  },
);

it.each(SCREENS)(
  "the console's page of a task that waits for a place shows its position, why and until when it waits, and which attempt was refused, and leads the operator to the places, in %s colours on a %s",
  async (colorScheme, _screen, settings) => {
    const page = await openPage(relay.url, { context: { ...settings, colorScheme } });
    await logIn(page, `/tasks/${tasks[SIXTH - 1]}`);
    await page.getByText("It waits because no place is free, as the next of the queue.").waitFor();
    await requireUsable(page);
    const text = await page.getByRole("main").innerText();
    expect(text).toMatch(
      /waits because no place is free, as the next of the queue; sent by .* or not at all/,
    );
    expect(text).toMatch(/Earlier attempts\s+ark-b .*: 401, key/);
    await page.getByRole("link", { name: "Places" }).click();
    await page.locator("#places-ark-a").waitFor();
    await page.goto(`/tasks/${tasks.at(-1)}`);
    // It waits at both connections, and at ark-b without the sixth job.
    await page
      .getByText("It waits because no place is free, at position 194 of the queue.")
      .waitFor();
  },
);
