import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { aKey, anAccount } from "./accounts.ts";
import { logIn, visit } from "./browser.ts";
import { OPERATOR_KEY } from "./client.ts";
import { DAY_MS, pass, START_S, useClock } from "./clock.ts";
import { aLinkedTask } from "./links.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, aFailure, CALLBACK_URL, erase, finish, report, VIDEO } from "./tasks.ts";

useClock();

/** Finds the status links on a page. */
const linksOn = (page: string) => new Set(page.match(/https:[^"<]+[?]token=st_[\w-]+/g));

it("a browser that opens a status link gets a page with the result, which no search engine lists and which sends no referrer", async () => {
  aReceiver();
  const { id, link } = await aLinkedTask({ metadata: { note: "not for links" } });
  await finish(aCompletion(id));
  const response = await visit(link);
  expect([response.status, Object.fromEntries(response.headers)]).toEqual([
    200,
    expect.objectContaining({
      "cache-control": "no-store",
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex",
    }),
  ]);
  const page = await response.text();
  expect(page).toContain(`<video class="output" src="${VIDEO}"`);
  expect(page).toContain(`href="${VIDEO}"`);
  for (const hidden of [CALLBACK_URL, "not for links", "callback", "http-equiv"]) {
    expect(page).not.toContain(hidden);
  }
});

it("the page of a status link loads itself again in a browser without scripts as long as the task is open", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const reload = '<noscript><meta http-equiv="refresh" content="15"/></noscript></head>';
  const head = async () =>
    /^.*<\/head>/.exec(
      (await (await visit(link)).text()).replaceAll(/<script[^>]*><\/script>/g, ""),
    )?.[0];
  expect(await head()).toContain(reload);
  await report(aFailure(id));
  expect(await head()).not.toContain("http-equiv");
});

it("the page of a status link permits pictures, videos and sounds of all hosts, because nobody knows before where a result will be, and no scripts or styles but the relay's", async () => {
  const { link } = await aLinkedTask();
  const policy = (await visit(link)).headers.get("Content-Security-Policy");
  expect(policy?.split("; ")).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: https:",
    "media-src 'self' https:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]);
});

it("the page of a status link has the configured name, logo and colour of the operator, the colour as its only inline style, which its policy permits by hash", async () => {
  const { link } = await aLinkedTask();
  const brand = { BRAND_NAME: "Fox <& Films", BRAND_LOGO: "fox.svg", BRAND_COLOR: "#0e8577" };
  for (const path of [link, `${link}x`]) {
    const response = await visit(path, undefined, {}, { ...env, ...brand });
    const page = await response.text();
    expect(page).toContain("<bdi>Fox &lt;&amp; Films</bdi>");
    expect(page).toContain('<img src="/brand/fox.svg" alt=""/>');
    expect(page).not.toContain("Task Relay");
    const [, style = "", ...others] = page.split(/<\/?style>/);
    expect([style, others.length]).toEqual([":root{--brand:#0e8577;--on-brand:#ffffff}", 1]);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
    const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
    expect(response.headers.get("Content-Security-Policy")).toContain(
      `style-src 'self' 'sha256-${hash}';`,
    );
  }
});

it("the page of a status link says until when a video can be saved from the upstream's own link, as its documentation states, and then that it is no longer there", async () => {
  const { id, link } = await aLinkedTask({ provider: "ark", callback_url: null });
  await report(aCompletion(id));
  const shown = async () => {
    const page = await (await visit(link)).text();
    return page.replaceAll(/<[^>]*>/g, "");
  };
  expect(await shown()).toMatch(
    /You can save it until 02 Jan 12:00:00, in \d+ h\. After that it may be gone\./,
  );
  pass(DAY_MS);
  const later = await shown();
  expect(later).toContain("Your video is no longer here");
  expect(later).not.toContain("Open the video");
});

/** Opens a status link that is refused. @returns the status of the answer, and the heading of the page. */
async function refused(path: string) {
  const response = await visit(path);
  expect(response.headers.get("Access-Control-Allow-Origin")).toBeNull();
  const page = await response.text();
  expect(page).not.toMatch(/<a [^>]*href="\/|token|callback/);
  return [response.status, /<h1>(.*?)<\/h1>/.exec(page)?.[1]];
}

it("a browser that opens a status link that is altered, expired or of an erased task gets a page for a customer that says so", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  const useless = [401, "This link does not work"];
  expect(await refused(`${link}x`)).toEqual(useless);
  expect(await refused(link.replace(id, crypto.randomUUID()))).toEqual(useless);
  expect(await refused(`${link}&wait=x`)).toEqual([400, "This link does not work"]);
  await report(aCompletion(id));
  await erase(id);
  expect(await refused(link)).toEqual([404, "There is nothing here any more"]);
  pass(5 * DAY_MS);
  expect(await refused(link)).toEqual(useless);
});

it("the console's page of a task offers the status link from its registration to the operator and to every key of the account that owns the task", async () => {
  const account = await anAccount();
  const keys = [OPERATOR_KEY, (await aKey(account)).key, (await aKey(account, "read")).key];
  for (const fields of [{}, { deadline_at: START_S + 60 }]) {
    const { id, token } = await aLinkedTask({ account, ...fields });
    for (const key of keys) {
      const page = await visit(`/tasks/${id}`, await logIn(key));
      const [link, ...others] = linksOn(await page.text());
      expect([link, others]).toEqual([expect.stringMatching(new RegExp(`${token}$`)), []]);
    }
  }
});

it("for a task that an event created with a created_at 90 days ago, the task's page in the console offers a status link that is not expired", async () => {
  const id = crypto.randomUUID();
  await report({ id, status: "processing", model: "m", created_at: START_S - 90 * 86_400 });
  const page = await visit(`/tasks/${id}`, await logIn());
  const [link = ""] = linksOn(await page.text());
  expect((await visit(new URL(link).pathname + new URL(link).search)).status).toBe(200);
});
