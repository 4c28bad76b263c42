import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import { logIn, outcome, submit, visit } from "../worker/browser.ts";
import { START } from "../worker/clock.ts";
import { useHeldWaits } from "../worker/held-waits.ts";
import { aReceiver } from "../worker/receiver.ts";
import { aCompletion, register, report } from "../worker/tasks.ts";
import { aRow, cron, HOUR, insert, useIndex } from "./support.ts";

useIndex();

const FAILED = {
  callback: "failed",
  attempts: 3,
  lastOutcome: "rejected",
  lastStatusCode: 503,
  version: START,
} as const;
const ID = "0edf0c76-03df-4fc8-941b-1cc4f8b7c465";

/** Returns a relay whose memory of earlier answers is empty, as in another isolate. */
const fresh = () => ({ ...env });

/** Returns the text of the main part of a page, without its tags. */
async function mainOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  const [main = ""] = /<main[\s\S]*<\/main>/.exec(await response.text()) ?? [];
  return main.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
}

it("once the cron has counted the tasks, the console's overview for an operator shows a failing host as a problem, then the numbers of tasks and callbacks, then all hosts", async () => {
  const failures = [1, 2, 3].map((minutes) =>
    aRow({ ...FAILED, createdAt: START - minutes * 60_000 }),
  );
  await insert(
    ...failures,
    aRow({ host: "good.example.net" }),
    aRow({ ...FAILED, host: "one.example.net", createdAt: START - HOUR }),
    aRow({ host: "new.example.net", callback: "sending", lastOutcome: "timeout", settledAt: null }),
  );
  await cron();
  const text = await mainOf(await visit("/", await logIn(), {}, fresh()));
  expect(text).toMatch(/1 problem .*client\.example\.net does not take callbacks: 503\..*3 tasks/);
  expect(text).toMatch(
    /6 tasks 20\.0 % of callbacks delivered 4 callbacks failed 2\.33 attempts each/,
  );
  expect(text).toMatch(
    /Hosts, worst first .*client\.example\.net fails: 503 0 % 3 3 .*one\.example\.net none delivered 0 % 1 1 .*good\.example\.net takes callbacks 100 % 1 0 .*new\.example\.net none settled yet/,
  );
});

it.each([
  ["7d", "7 d"],
  ["30d", "30 d"],
] as const)(
  "the console's overview for an operator says 'All quiet' when there is no problem, and counts the callbacks of the chosen time range: %s",
  async (range, title) => {
    const attempts = { attempts: 2, outcomes: { timeout: 1, delivered: 1 } };
    const createdAt = START - 6 * 24 * HOUR;
    await insert(aRow(attempts), aRow({ ...attempts, createdAt }));
    await cron();
    const text = await mainOf(await visit(`/?range=${range}`, await logIn(), {}, fresh()));
    expect(text).toContain(`All quiet 2 callbacks delivered in ${title}.`);
    expect(text).toMatch(/Failed attempts by outcome .* timeout 2 /);
  },
);

it("the console's overview for an operator explains, while there are no tasks, how to register one, and, while the first is not yet counted, how long this takes", async () => {
  const cookie = await logIn();
  expect(await mainOf(await visit("/", cookie, {}, fresh()))).toContain("Your first task");
  await insert(aRow());
  expect(await mainOf(await visit("/", cookie, {}, fresh()))).toContain(
    "No task has been counted yet, which takes up to 10 minutes.",
  );
});

it("the console's overview for an account shows the account's balance and only the account's tasks", async () => {
  const account = await anAccount();
  const cookie = await logIn((await aKey(account)).key);
  expect(await mainOf(await visit("/", cookie, {}, fresh()))).toContain("No tasks yet");
  await insert(aRow({ account, model: "own" }), aRow({ account: "other", model: "foreign" }));
  const text = await mainOf(await visit("/", cookie, {}, fresh()));
  expect(text).toMatch(new RegExp(`${account} .* 0 credits 1 delivered in 7 days .* own `));
  expect(text).not.toContain("foreign");
});

/** Creates an account with open tasks, the newest last, and their rows in the index. */
async function anAccountWithOpenTasks(count: number) {
  const account = await anAccount();
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth++) {
    const id = await register({ account });
    ids.push(id);
    const open = { status: "pending", callback: "waiting", settledAt: null } as const;
    await insert(aRow({ id, account, ...open, createdAt: START + nth * 1000 }));
  }
  const cookie = await logIn((await aKey(account)).key);
  return { account, cookie, ids };
}

/** Requests the overview, or its refresh. @returns its part that is refreshed, and what the next refresh states. */
async function partOf(cookie: string, shown?: string) {
  const headers: Record<string, string> = shown === undefined ? {} : { "X-Refresh": shown };
  const text = await (await visit("/", cookie, headers)).text();
  const [part = ""] = /<div id="account"[\s\S]*/.exec(text) ?? [];
  const version = /data-version="([^"]+)"/.exec(part)?.[1];
  return { part, version, refreshS: Number(/data-refresh="(\d+)"/.exec(part)?.[1]) };
}

describe("the console's overview for an account whose newest task is open", () => {
  const waits = useHeldWaits();

  it("a request to refresh the console's overview for an account is answered, with the new state, when the account's newest open task changes; it watches no other task", async () => {
    const { cookie, ids } = await anAccountWithOpenTasks(3);
    const newest = ids.at(-1) ?? "";
    const { part, version, refreshS } = await partOf(cookie);
    expect([version?.startsWith(`${newest}.`), refreshS]).toEqual([true, 5]);
    expect(part).not.toContain("completed");
    const watched = vi.spyOn(TaskObject.prototype, "fetch");
    waits.between = async () => {
      aReceiver();
      await report(aCompletion(newest));
      return true;
    };
    const next = await partOf(cookie, version);
    expect(next.part).toContain("completed");
    expect(next.version).not.toBe(version);
    expect([waits.pauses, watched.mock.calls.length]).toEqual([[25_000], 1]);
  });

  it("a request to refresh the console's overview for an account waits at most 25 s for a change of a task, and not at all if the task has changed already or belongs to another account", async () => {
    const { cookie } = await anAccountWithOpenTasks(1);
    const other = await anAccountWithOpenTasks(1);
    const { version = "" } = await partOf(cookie);
    expect((await partOf(cookie, version)).version).toBe(version);
    expect(waits.pauses).toEqual([25_000]);
    await partOf(cookie, version.replace(/\d+$/, "1"));
    const foreign = (await partOf(other.cookie)).version;
    expect((await partOf(cookie, foreign)).version).toBe(version);
    for (const shown of ["none", "", `${version}x`]) await partOf(cookie, shown);
    expect(waits.pauses).toEqual([25_000]);
  });

  it("while the Durable Object of an account's newest open task cannot be reached, the console's overview for the account shows the task's state from the index", async () => {
    const { cookie, ids } = await anAccountWithOpenTasks(1);
    const { version } = await partOf(cookie);
    const fault = Object.assign(new Error("Network connection lost."), { retryable: true });
    vi.spyOn(TaskObject.prototype, "inspect").mockRejectedValue(fault);
    for (const shown of [undefined, version]) {
      const { part, refreshS } = await partOf(cookie, shown);
      expect([part.includes(ids[0] ?? "none"), refreshS]).toEqual([true, 30]);
    }
  });
});

it("the console's overview for an account that has no open task is refreshed every 30 s, without a request to the Durable Object of a task", async () => {
  const account = await anAccount();
  await insert(aRow({ account }));
  const cookie = await logIn((await aKey(account)).key);
  const asked = vi.spyOn(TaskObject.prototype, "inspect");
  const { version, refreshS } = await partOf(cookie);
  expect([version, refreshS, asked.mock.calls.length]).toEqual([undefined, 30, 0]);
});

it("on the console's overview for an operator each element has an id of its own, and no element that is refreshed is inside another one that is", async () => {
  await insert(aRow(FAILED), aRow({ callback: "sending", settledAt: null }));
  await cron();
  const ids: (string | null)[] = [];
  const nested: (string | null)[] = [];
  const page = new HTMLRewriter()
    .on("[id]", { element: (each) => void ids.push(each.getAttribute("id")) })
    .on("[data-refresh] [data-refresh]", {
      element: (each) => void nested.push(each.getAttribute("id")),
    })
    .transform(await visit("/", await logIn(), {}, fresh()));
  expect(await page.text()).toContain("not settled");
  expect(ids).toEqual([...new Set(ids)]);
  expect(nested).toEqual([]);
});

it("with SANDBOX=true and no tasks, a button of the console's overview registers a task with the provider sandbox and leads to the task's page", async () => {
  const cookie = await logIn();
  const bindings = { ...fresh(), SANDBOX: "true" };
  expect(await mainOf(await visit("/", cookie, {}, bindings))).toContain("Run a sandbox task");
  const [status, location] = outcome(await submit("/sandbox", {}, cookie, {}, bindings));
  expect([status, location]).toEqual([303, expect.stringMatching(/^\/tasks\/[0-9a-f-]{36}$/)]);
});

it("a search in the console leads to the task that has the typed id, else to the account with this id, else to the list of tasks of the typed model", async () => {
  const account = await anAccount();
  const cookie = await logIn();
  const searches = [`msg_${ID}`, account, "no-such-account", " "].map(async (text) =>
    outcome(await submit("/search", { q: text }, cookie)),
  );
  expect(await Promise.all(searches)).toEqual([
    [303, `/tasks/${ID}`],
    [303, `/accounts/${account}`],
    [303, "/tasks?model=no-such-account"],
    [303, "/"],
  ]);
});
