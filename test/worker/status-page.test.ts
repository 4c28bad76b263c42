import { expect, it } from "vitest";
import { aKey, anAccount } from "./accounts.ts";
import { logIn, visit } from "./browser.ts";
import { OPERATOR_KEY } from "./client.ts";
import { DAY_MS, pass, START_S, useClock } from "./clock.ts";
import { aLinkedTask } from "./links.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, CALLBACK_URL, erase, finish, report, VIDEO } from "./tasks.ts";

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
  expect(page).toContain(`href="${VIDEO}"`);
  for (const hidden of [CALLBACK_URL, "not for links"]) expect(page).not.toContain(hidden);
});

it("a browser that opens a status link that is altered, expired or of an erased task gets a page that says so", async () => {
  const { id, link } = await aLinkedTask({ callback_url: null });
  for (const [path, text] of [
    [`${link}x`, "altered or cut off"],
    [link.replace(id, crypto.randomUUID()), "belongs to another task"],
  ] as const) {
    const response = await visit(path);
    expect([response.status, response.headers.get("Access-Control-Allow-Origin")]).toEqual([
      401,
      null,
    ]);
    const page = await response.text();
    expect(page).toContain(text);
    expect(page).toContain("Ask whoever gave you this link for a new one.");
  }
  await report(aCompletion(id));
  await erase(id);
  const erased = await visit(link);
  expect([erased.status, await erased.text()]).toEqual([
    404,
    expect.stringContaining("There is no task with this id."),
  ]);
  pass(5 * DAY_MS);
  const expired = await visit(link);
  expect([expired.status, await expired.text()]).toEqual([
    401,
    expect.stringContaining("expired at 2050"),
  ]);
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
