import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import {
  accountStub,
  aCharged,
  anAccount,
  balanceOf,
  booksOf,
  entriesOf,
  grant,
  priced,
} from "./accounts.ts";
import { invalid, post, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { aReceiver } from "./receiver.ts";
import { aFailure, finish, read } from "./tasks.ts";

useClock();

const MAX = 2 ** 52;
const ORDER = { reference: "ticket 7", amount: -15, reason: "Counted twice in May" };

function adjust(account: string, body: unknown): Promise<Response> {
  return post(`/v1/accounts/${account}/adjustments`, body);
}

describe("POST /v1/accounts/{account}/adjustments", () => {
  it("answers 201 with the adjustment and the new balance, and 200 without booking to a repeat", async () => {
    const account = await anAccount(20);
    for (const status of [201, 200]) {
      const response = await adjust(account, ORDER);
      expect([response.status, await response.json()]).toEqual([status, { ...ORDER, balance: 5 }]);
      pass(5000);
    }
    const [entry] = await entriesOf(account);
    expect(entry).toEqual({ kind: "adjustment", ...ORDER, balance: 5, created_at: START_S });
    expect(await booksOf(account)).toEqual(["grant 20", "adjustment -15"]);
  });

  it.each([
    ["amount", { amount: 15 }],
    ["reason", { reason: "Counted thrice" }],
  ])("answers 409 to another %s under a known reference, and books nothing", async (_, other) => {
    const account = await anAccount(20);
    await adjust(account, ORDER);
    const answer = await refusal(await adjust(account, { ...ORDER, ...other }));
    expect(answer).toEqual({ status: 409, code: "reference_reused" });
    expect(await balanceOf(account)).toBe(5);
  });

  it("accepts the reference of a grant", async () => {
    const account = await anAccount();
    await post(`/v1/accounts/${account}/grants`, { reference: ORDER.reference, amount: 5 });
    expect((await adjust(account, ORDER)).status).toBe(201);
    expect(await balanceOf(account)).toBe(-10);
  });

  it("to a negative balance lets no charge through until enough credits are granted", async () => {
    const account = await anAccount(10);
    await adjust(account, ORDER);
    const refused = await post("/v1/tasks", priced(account, 1));
    expect(await refused.json()).toMatchObject({
      code: "insufficient_credits",
      balance: -5,
      price: 1,
    });
    await grant(account, 6);
    await aCharged(account, 1);
    expect(await balanceOf(account)).toBe(0);
  });

  it("to a negative balance does not hold back a refund and the callback after it", async () => {
    const received = aReceiver();
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    await adjust(account, ORDER);
    await finish(aFailure(id));
    expect(await read(id)).toMatchObject({ credits: { state: "refunded" } });
    expect(received).toHaveLength(1);
    expect(await balanceOf(account)).toBe(-5);
  });

  it("keeps the balance between -2^52 and 2^52", async () => {
    const account = await anAccount();
    for (const sign of [1, -1]) {
      const order = { reference: `to ${sign}`, amount: sign * MAX, reason: "x" };
      expect((await adjust(account, order)).status).toBe(201);
      const beyond = { ...order, reference: `beyond ${sign}`, amount: sign };
      expect(await refusal(await adjust(account, beyond))).toEqual(invalid("/amount"));
      await adjust(account, { reference: `back ${sign}`, amount: -sign * MAX, reason: "x" });
    }
    expect(await balanceOf(account)).toBe(0);
  });

  it.each<[string, object, string]>([
    ["the amount 0", { amount: 0 }, "/amount"],
    ["a fractional amount", { amount: 0.5 }, "/amount"],
    ["an amount under -(2^53-1)", { amount: -(2 ** 53) }, "/amount"],
    ["an empty reference", { reference: "" }, "/reference"],
    ["a missing reason", { reason: undefined }, "/reason"],
    ["an empty reason", { reason: "" }, "/reason"],
    ["a reason of 501 characters", { reason: "r".repeat(501) }, "/reason"],
    ["an unknown field", { balance: 5 }, "/balance"],
  ])("rejects %s and books nothing", async (_, change, path) => {
    const account = await anAccount(5);
    expect(await refusal(await adjust(account, { ...ORDER, ...change }))).toEqual(invalid(path));
    expect(await booksOf(account)).toEqual(["grant 5"]);
  });
});

/** The table as the builds before adjustments created it. */
const EARLIER_TABLE = `
  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    reference TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    balance INTEGER NOT NULL CHECK (balance >= 0),
    task_id TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (kind, reference)
  ) STRICT`;

/** Gives the account a table of an earlier build. */
async function withEarlierTable(account: string): Promise<void> {
  await runInDurableObject(accountStub(account), (_, { storage: { sql } }) => {
    sql.exec("DROP TABLE entries");
    sql.exec(EARLIER_TABLE);
  });
}

describe("the ledger of an account that an earlier build created", () => {
  it("goes on, and takes an adjustment to a negative balance without losing an entry", async () => {
    aReceiver();
    const account = await anAccount();
    await withEarlierTable(account);
    await grant(account, 10);
    const id = await aCharged(account, 4);
    const before = await entriesOf(account);
    expect((await adjust(account, ORDER)).status).toBe(201);
    expect((await entriesOf(account)).slice(1)).toEqual(before);
    expect((await adjust(account, ORDER)).status).toBe(200);
    await finish(aFailure(id));
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4", "adjustment -15", "refund 4"]);
    expect(await balanceOf(account)).toBe(-5);
  });
});
