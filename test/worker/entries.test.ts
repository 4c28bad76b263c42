import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { accountStub, aCharged, anAccount, balanceOf, entriesOf, grant, Page } from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { aFailure, atRest, call, pass, post, refusal, START_S, useClock } from "./support.ts";

useClock();

async function page(account: string, query: string) {
  const response = await call(`/v1/accounts/${account}/entries${query}`);
  expect(response.status).toBe(200);
  return Page.parse(await response.json());
}

async function walk(account: string, limit: number, between: () => Promise<void>) {
  const sizes: number[] = [];
  const amounts: number[] = [];
  let cursor = "";
  for (;;) {
    const { data, next_cursor } = await page(account, `?limit=${limit}${cursor}`);
    sizes.push(data.length);
    amounts.push(...data.map(({ amount }) => amount));
    if (next_cursor === null) return { sizes, amounts };
    if (sizes.length > 10) throw new Error("the pages have no end");
    cursor = `&cursor=${next_cursor}`;
    await between();
  }
}

describe("GET /v1/accounts/{account}/entries", () => {
  it("lists what was booked, newest first, with the balance after it and the task it is for", async () => {
    aReceiver();
    const account = await anAccount(10);
    pass(1000);
    const id = await aCharged(account, 4);
    pass(1000);
    await post("/v1/events", aFailure(id));
    await atRest(id);
    const [refund, charge, first, ...more] = await entriesOf(account);
    expect(more).toEqual([]);
    expect(refund).toEqual({
      kind: "refund",
      amount: 4,
      balance: 10,
      reference: charge?.reference,
      task_id: id,
      created_at: START_S + 2,
    });
    expect(charge).toMatchObject({ kind: "charge", amount: 4, balance: 6, task_id: id });
    expect(first).toMatchObject({ kind: "grant", amount: 10, balance: 10, created_at: START_S });
    expect(charge?.reference).not.toContain(id);
  });

  it("is empty for a new account", async () => {
    expect(await page(await anAccount(), "")).toEqual({ data: [], next_cursor: null });
  });

  it.each([
    [1, [1, 1, 1, 1, 1, 1, 1]],
    [3, [3, 3, 1]],
    [7, [7]],
    [200, [7]],
  ])("pages by %d without a gap or a repeat", async (limit, sizes) => {
    const account = await anAccount();
    for (let amount = 1; amount <= 7; amount++) await grant(account, amount);
    const walked = await walk(account, limit, async () => undefined);
    expect(walked).toEqual({ sizes, amounts: [7, 6, 5, 4, 3, 2, 1] });
  });

  it("pages without a gap or a repeat while entries come in", async () => {
    const account = await anAccount();
    for (let amount = 1; amount <= 5; amount++) await grant(account, amount);
    const walked = await walk(account, 2, () => grant(account, 100));
    expect(walked.amounts).toEqual([5, 4, 3, 2, 1]);
  });

  it("has 50 on a page when no limit is given", async () => {
    const account = await anAccount();
    for (let amount = 1; amount <= 51; amount++) await grant(account, amount);
    const { data, next_cursor } = await page(account, "");
    expect(data).toHaveLength(50);
    const rest = await page(account, `?cursor=${next_cursor}`);
    expect(rest).toMatchObject({ data: [{ amount: 1 }], next_cursor: null });
  });

  it.each([
    ["limit=0", "/limit"],
    ["limit=201", "/limit"],
    ["limit=-1", "/limit"],
    ["limit=1.5", "/limit"],
    ["limit=1e2", "/limit"],
    ["limit=", "/limit"],
    ["limit=ten", "/limit"],
    ["cursor=0", "/cursor"],
    ["cursor=", "/cursor"],
    ["cursor=x", "/cursor"],
    ["cursor=-5", "/cursor"],
    ["cursor=9007199254740992", "/cursor"],
    ["cursor=1%27%20OR%201=1", "/cursor"],
  ])("answers 400 to ?%s", async (query, path) => {
    const account = await anAccount(1);
    for (const kind of ["entries", "grants"]) {
      const response = await call(`/v1/accounts/${account}/${kind}?${query}`);
      const paths = [path];
      expect(await refusal(response)).toEqual({ status: 400, code: "invalid_request", paths });
    }
  });

  it("adds up to the balance", async () => {
    aReceiver();
    const account = await anAccount(100);
    const failed = [await aCharged(account, 7), await aCharged(account, 8)];
    await aCharged(account, 9);
    for (const id of failed) await post("/v1/events", aFailure(id));
    for (const id of failed) await atRest(id);
    expect(await balanceOf(account)).toBe(91);
    const sum = (await entriesOf(account)).reduce(
      (total, { kind, amount }) => total + (kind === "charge" ? -amount : amount),
      0,
    );
    expect(sum).toBe(91);
  });
});

describe("GET /v1/accounts/{account}/grants", () => {
  it("reads the grants alone, however many charges there are", async () => {
    const account = await anAccount(1);
    const plan = await runInDurableObject(accountStub(account), (_, { storage }) => {
      const query =
        "EXPLAIN QUERY PLAN SELECT * FROM entries WHERE seq < ? AND kind = 'grant' ORDER BY seq DESC LIMIT ?";
      return storage.sql.exec<{ detail: string }>(query, 9, 9).toArray();
    });
    expect(plan[0]?.detail).toMatch(/^SEARCH entries USING INDEX \S+ \(kind=\?\)$/);
  });
});
