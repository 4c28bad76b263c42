import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { accountStub, aCharged, anAccount, balanceOf, entriesOf, grant, Page } from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { call, invalid, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { aFailure, finish } from "./tasks.ts";

useClock();

async function page(account: string, query: string) {
  const response = await call(`/v1/accounts/${account}/entries${query}`);
  expect(response.status).toBe(200);
  return Page.parse(await response.json());
}

/** Grants 1, 2, … credits to a new account. */
async function granted(count: number): Promise<string> {
  const account = await anAccount();
  for (let amount = 1; amount <= count; amount++) await grant(account, amount);
  return account;
}

/** Reads all pages, newest entries first, and runs `between` before each further page. */
async function walk(account: string, limit: number, between = () => Promise.resolve()) {
  const pages: number[][] = [];
  let cursor = "";
  for (;;) {
    const { data, next_cursor } = await page(account, `?limit=${limit}${cursor}`);
    pages.push(data.map(({ amount }) => amount));
    if (next_cursor === null) return pages;
    if (pages.length > 10) throw new Error("the pages do not end");
    cursor = `&cursor=${next_cursor}`;
    await between();
  }
}

it("GET /v1/accounts/{account}/entries lists all entries, newest first, each with its balance and its task", async () => {
  aReceiver();
  const account = await anAccount(10);
  pass(1000);
  const id = await aCharged(account, 4);
  pass(1000);
  await finish(aFailure(id));
  const [{ reference } = { reference: "" }] = await entriesOf(account);
  expect(reference).not.toContain(id);
  const order = { amount: 4, reference, task_id: id };
  expect(await entriesOf(account)).toEqual([
    { kind: "refund", ...order, balance: 10, created_at: START_S + 2 },
    { kind: "charge", ...order, balance: 6, created_at: START_S + 1 },
    {
      kind: "grant",
      amount: 10,
      balance: 10,
      reference: expect.any(String),
      created_at: START_S,
    },
  ]);
  expect(await balanceOf(account)).toBe(10);
});

it("GET /v1/accounts/{account}/entries returns an empty list of entries for a new account", async () => {
  expect(await page(await anAccount(), "")).toEqual({ data: [], next_cursor: null });
});

it.each([
  [1, [[7], [6], [5], [4], [3], [2], [1]]],
  [3, [[7, 6, 5], [4, 3, 2], [1]]],
  [7, [[7, 6, 5, 4, 3, 2, 1]]],
  [200, [[7, 6, 5, 4, 3, 2, 1]]],
])(
  "GET /v1/accounts/{account}/entries pages by %d without gaps or repeats",
  async (limit, pages) => {
    expect(await walk(await granted(7), limit)).toEqual(pages);
  },
);

it("GET /v1/accounts/{account}/entries pages without gaps or repeats while entries are added", async () => {
  const account = await granted(5);
  const pages = await walk(account, 2, () => grant(account, 100));
  expect(pages.flat()).toEqual([5, 4, 3, 2, 1]);
});

it("GET /v1/accounts/{account}/entries returns 50 entries when no limit is given", async () => {
  const account = await granted(51);
  const { data, next_cursor } = await page(account, "");
  expect(data).toHaveLength(50);
  const rest = await page(account, `?cursor=${next_cursor}`);
  expect(rest).toMatchObject({ data: [{ amount: 1 }], next_cursor: null });
});

it.each([
  ["limit", ["0", "201", "-1", "1.5", "1e2", "", "ten"]],
  ["cursor", ["0", "", "x", "-5", "9007199254740992", "1%27%20OR%201=1"]],
])(
  "GET /v1/accounts/{account}/entries and /grants reject an invalid %s: %j",
  async (name, values) => {
    const account = await anAccount(1);
    for (const value of values) {
      for (const kind of ["entries", "grants"]) {
        const response = await call(`/v1/accounts/${account}/${kind}?${name}=${value}`);
        expect(await refusal(response)).toEqual(invalid(`/${name}`));
      }
    }
  },
);

it("GET /v1/accounts/{account}/grants finds the grants by an index, so that charges cost it nothing", async () => {
  const account = await anAccount(1);
  const plan = await runInDurableObject(accountStub(account), (_, { storage }) => {
    const query =
      "EXPLAIN QUERY PLAN SELECT * FROM entries WHERE seq < ? AND kind = 'grant' ORDER BY seq DESC LIMIT ?";
    return storage.sql.exec<{ detail: string }>(query, 9, 9).toArray();
  });
  expect(plan[0]?.detail).toMatch(/^SEARCH entries USING INDEX \S+ \(kind=\?\)$/);
});
