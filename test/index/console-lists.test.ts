import { expect, it } from "vitest";
import { aKey, anAccount } from "../worker/accounts.ts";
import { cookieIn, logIn, outcome, submit, visit } from "../worker/browser.ts";
import { untilIdle } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { pass, START } from "../worker/clock.ts";
import { aRow, insert, indexedTask, useIndex } from "./support.ts";

useIndex();

/** Returns the ids of the tasks that a list shows, each by its link. */
async function listed(path: string, cookie: string): Promise<readonly string[]> {
  const text = await (await visit(path, cookie)).text();
  return Array.from(text.matchAll(/href="\/tasks\/([0-9a-f-]{36})"/g), ([, id = ""]) => id);
}

it("the console's list of tasks shows an account only its own tasks, 50 to a page, and the console's pages about hosts are refused to it", async () => {
  const [own, other] = [await anAccount(), await anAccount()];
  const cookie = await logIn((await aKey(own)).key);
  const mine = Array.from({ length: 51 }, (_, n) => aRow({ account: own, createdAt: START - n }));
  await insert(...mine, aRow({ account: other }));
  const first = await (await visit("/tasks", cookie)).text();
  const titles = Array.from(first.matchAll(/<th scope="col"[^>]*>([^<]+)/g), ([, title]) => title);
  expect(titles).toEqual([
    "Task",
    "Status",
    "Callback",
    "Model",
    "Host",
    "Duration",
    "Credits",
    "Created",
  ]);
  expect(await listed("/tasks", cookie)).toEqual(mine.slice(0, 50).map(({ id }) => id));
  const [, older = ""] = /href="([^"]+)" rel="next"/.exec(first) ?? [];
  expect(await listed(older.replaceAll("&amp;", "&"), cookie)).toEqual([mine[50]?.id]);
  for (const path of ["/hosts", "/hosts/client.example.net"]) {
    expect((await visit(path, cookie)).status).toBe(403);
  }
  expect((await visit(`/tasks?account=${other}`, cookie)).status).toBe(400);
  expect((await submit("/hosts/client.example.net/one", { task: "x" }, cookie)).status).toBe(403);
});

it("when a filter of the console's list of tasks is invalid, the page shows the form again, with the reason next to the filter", async () => {
  const response = await visit("/tasks?status_code=9&host=a.example", await logIn());
  expect(response.status).toBe(400);
  const text = await response.text();
  expect(text).toContain('value="a.example"');
  expect(text).toContain("must be a status code from 100 to 599");
});

it("when no task on a page of the console's list matches the filter, the page says how far back it has searched, and links to older tasks", async () => {
  const rows = Array.from({ length: 10_001 }, (_, n) => aRow({ createdAt: START - n }));
  await insert(...rows.slice(0, -1), { ...aRow({ createdAt: START - 20_000 }), model: "rare" });
  const cookie = await logIn();
  const text = await (await visit("/tasks?model=rare", cookie)).text();
  expect(text).toContain("No match so far");
  const [, further = ""] = /button-main" href="([^"]+)"/.exec(text) ?? [];
  expect(await listed(further.replaceAll("&amp;", "&"), cookie)).toHaveLength(1);
});

it("when a test callback or a redelivery ordered on the console's page of a host is refused, the page is shown again with the typed input, the fault and the refusal's HTTP status", async () => {
  await insert(aRow({ callback: "failed", attempts: 3, lastOutcome: "rejected" }));
  const cookie = await logIn();
  const typed = { callback_url: "http://client.example.net/<hook>" };
  const tested = await submit("/hosts/client.example.net/test", typed, cookie);
  expect(tested.status).toBe(400);
  const page = await tested.text();
  expect(page).toContain('value="http://client.example.net/&lt;hook&gt;"');
  expect(page).toMatch(/aria-describedby="callback_url-issue" aria-invalid="true"/);
  expect(page).toMatch(/id="callback_url-issue" class="field-error">must /);
  const task = await indexedTask({ callback_url: null });
  const fields = { task, run: crypto.randomUUID() };
  const sent = await submit("/hosts/client.example.net/one", fields, cookie);
  expect(sent.status).toBe(409);
  expect(await sent.text()).toContain(
    '<p class="field-error" role="alert">The task has no callback_url.</p>',
  );
});

it("a bulk redelivery in the console first shows how many callbacks it will send, goes on by itself only in the browser that began it, and sends no callback twice", async () => {
  const received = aReceiver(status(200));
  for (let n = 0; n < 12; n++) {
    await indexedTask();
    pass(1);
  }
  const sending = aRow({ callback: "sending", settledAt: null, expiresAt: null, dueAt: START });
  await insert(sending);
  const cookie = await logIn();
  const counted = await (await visit("/redeliveries", cookie)).text();
  expect(counted).toContain("Send 12 again");
  expect(counted).toContain("1 will be skipped: 1 are being sent");
  const run = { run: crypto.randomUUID(), pace: "10", total: "12", callback: "delivered" };
  const first = await submit("/redeliveries", run, cookie);
  const again = await submit("/redeliveries", run, cookie);
  const [, path = ""] = outcome(first);
  const progress = new URL(String(path), "https://relay.example.com").searchParams;
  for (const [cookies, goesOn] of [
    [cookie, false],
    [`${cookie}; ${cookieIn(first)}`, true],
  ] as const) {
    const text = await (await visit(String(path), cookies)).text();
    expect([text.includes("Go on"), text.includes("data-step")]).toEqual([true, goesOn]);
  }
  expect(Object.fromEntries(progress)).toMatchObject({ ...run, started: "10" });
  const repeated = new URL(String(outcome(again)[1]), "https://relay.example.com").searchParams;
  expect(repeated.toString()).toBe(progress.toString());
  const last = await submit("/redeliveries", Object.fromEntries(progress), cookie);
  expect(String(outcome(last)[1])).toContain("done=1");
  const ids = received.map(({ headers }) => headers["x-task-id"] ?? "");
  for (const id of ids) await untilIdle(id);
  expect(received).toHaveLength(24);
});
