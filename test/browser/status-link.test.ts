import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { ROOT } from "../process/harness/child.ts";
import { LOCAL_VARS } from "../process/harness/client.ts";
import { LoopbackServer } from "../process/harness/loopback.ts";
import { Receiver } from "../process/harness/receiver.ts";
import { type Relay, startRelay } from "../process/harness/relay.ts";
import { isTooWide, violationsOf } from "./axe.ts";
import { openPage } from "./browser.ts";
import { logIn } from "./log-in.ts";

const VIDEO = "https://cdn.example.com/video.mp4";
const Registered = z.object({ id: z.string(), status_url: z.string() });

/** The code of docs/status-links.md in one language. */
function codeOf(language: string): string {
  const text = readFileSync(join(ROOT, "docs/status-links.md"), "utf8");
  const code = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(text)?.[1];
  if (code === undefined) throw new Error(`docs/status-links.md has no code in ${language}`);
  return code;
}

let relay: Relay;
let receiver: Receiver;
/** Site of a client, on another origin than the relay. */
let site: LoopbackServer;
let statusUrl = "";

beforeAll(async () => {
  receiver = await Receiver.start();
  relay = await startRelay({ vars: { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,2,2" } });
  const example = `<!doctype html><html lang="en"><title>Order</title>${codeOf("html")}</html>`;
  site = await new LoopbackServer(({ url }, response) => {
    const isScript = url === "/order.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? `export const statusUrl = ${JSON.stringify(statusUrl)};` : example);
  }).listen();
});

afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await relay[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** Registers a task whose receiver answers with these statuses in turn. */
async function registered(...statuses: readonly number[]): Promise<z.output<typeof Registered>> {
  const id = randomUUID();
  const answers = statuses.map((status) => ({ kind: "answer", status }) as const);
  const callback_url = receiver.at(`/${id}`, ...answers);
  const body = { id, model: "seedance", callback_url };
  return Registered.parse((await relay.client.ask("POST", "/v1/tasks", body)).json);
}

function complete(id: string) {
  const output = { urls: [VIDEO] };
  return relay.client.ask("POST", "/v1/events", { id, status: "completed", output });
}

/** Opens a page of the client's site, which may send requests to the relay. */
function openSite() {
  const icon = /favicon/;
  return openPage(site.origin, { origins: [relay.url], expected: [icon] });
}

it("the example page in docs/status-links.md, served by another site, uses a task's status link to show the state of the task and then its result", async () => {
  const { id, status_url } = await registered(204);
  statusUrl = status_url;
  const page = await openSite();
  await page.goto("/");
  await page.getByText("pending").waitFor();
  await complete(id);
  await page.getByText("completed").waitFor();
  expect(await page.locator("#links a").getAttribute("href")).toBe(VIDEO);
});

it("a page of another site can wait for a task's end by the code in docs/status-links.md, and can read the task with its ETag in If-None-Match, which is answered with 304", async () => {
  const { id, status_url } = await registered(204);
  statusUrl = status_url;
  const page = await openSite();
  await page.goto("/order.js");
  const code = `(async (statusUrl) => { ${codeOf("js")} return task.status; })(${JSON.stringify(status_url)})`;
  const waiting = page.evaluate(code);
  await complete(id);
  expect(await waiting).toBe("completed");
  const statuses = await page.evaluate(async (link) => {
    const { origin, pathname, searchParams } = new URL(link);
    const headers = { Authorization: `Bearer ${searchParams.get("token")}` };
    const first = await fetch(origin + pathname, { headers });
    const etag = first.headers.get("ETag") ?? "none";
    const second = await fetch(origin + pathname, {
      headers: { ...headers, "If-None-Match": etag },
    });
    return [first.status, second.status];
  }, status_url);
  expect(statuses).toEqual([200, 304]);
});

it("a browser's EventSource on the events of a task gets each change until the callback is delivered, and then ends by itself without reconnecting", async () => {
  const { id, status_url } = await registered(500, 204);
  const page = await openSite();
  await page.goto("/order.js");
  const watch = await page.evaluateHandle((link) => {
    const url = new URL(link);
    url.pathname += "/events";
    const source = new EventSource(url);
    const seen: string[] = [];
    const hasFirst = new Promise<void>((resolve) => {
      source.addEventListener("task", ({ data }) => {
        const { status, callback }: { status: string; callback: { status: string } } =
          JSON.parse(data);
        const stage = `${status} ${callback.status}`;
        if (seen.at(-1) !== stage) seen.push(stage);
        resolve();
      });
    });
    const stages = new Promise<readonly string[]>((resolve) => {
      source.addEventListener("error", () => {
        if (source.readyState === EventSource.CLOSED) resolve(seen);
      });
    });
    return { hasFirst, stages };
  }, status_url);
  await watch.evaluate(({ hasFirst }) => hasFirst);
  await complete(id);
  const seen = await watch.evaluate(({ stages }) => stages);
  expect([seen[0], seen.at(-1)]).toEqual(["pending waiting", "completed delivered"]);
});

it.each([
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
] as const)(
  "the button Share on a task's page in the console copies the task's status link, which shows the task to a browser without a login (%s)",
  async (_, context) => {
    const { id, status_url } = await registered(204);
    const permissions = ["clipboard-read", "clipboard-write"];
    const page = await openPage(relay.url, { context: { ...context, permissions } });
    await logIn(page, `/tasks/${id}`);
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("button", { name: "Copy the status link" }).click();
    expect(await violationsOf(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe(status_url);

    // The host of the video does not exist.
    const origins = [new URL(VIDEO).origin];
    const visitor = await openPage(relay.url, { context, origins, expected: [/ERR_/] });
    await visitor.goto(copied);
    await visitor.getByText("Your result is on its way").waitFor();
    await complete(id);
    await visitor.getByText("Your video is ready").waitFor();
    const button = visitor.getByRole("link", { name: "Open the video" });
    expect(await button.getAttribute("href")).toBe(VIDEO);
    expect(await violationsOf(visitor)).toEqual([]);
    expect(await isTooWide(visitor)).toBe(false);
  },
);
