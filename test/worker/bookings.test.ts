import { expect, it } from "vitest";
import { aCharged, anAccount, balanceOf, booksOf, entriesOf, grant, priced } from "./accounts.ts";
import { invalid, OPERATOR_NAME, post, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { aReceiver } from "./receiver.ts";
import { aFailure, finish, read } from "./tasks.ts";

useClock();

/** Largest balance that grants and adjustments may lead to; refunds may exceed it. */
const MAX = 2 ** 52;
const GRANT = { reference: "order 7 €", amount: 10 };
const ADJUSTMENT = { reference: "ticket 7", amount: -15, reason: "Counted twice in May" };
const REUSED = { status: 409, code: "reference_reused" };

function give(account: string, body: unknown): Promise<Response> {
  return post(`/v1/accounts/${account}/grants`, body);
}

function adjust(account: string, body: unknown): Promise<Response> {
  return post(`/v1/accounts/${account}/adjustments`, body);
}

it.each([
  ["grants", give, { kind: "grant", ...GRANT }],
  ["adjustments", adjust, { kind: "adjustment", ...ADJUSTMENT }],
] as const)(
  "POST /v1/accounts/{account}/%s answers 201 with the booking and the balance; a repeated request gets 200 with the same body, and books nothing",
  async (_, book, { kind, ...order }) => {
    const account = await anAccount(20);
    const balance = 20 + order.amount;
    for (const status of [201, 200]) {
      const response = await book(account, order);
      expect([response.status, await response.json()]).toEqual([status, { ...order, balance }]);
      pass(5000);
    }
    const [entry, ...others] = await entriesOf(account);
    const booked = { created_at: START_S, booked_by: OPERATOR_NAME };
    expect(entry).toEqual({ kind, ...order, balance, ...booked });
    expect(others).toMatchObject([{ amount: 20 }]);
  },
);

it.each([
  ["a grant of another amount", give, GRANT, { amount: 9 }],
  ["an adjustment of another amount", adjust, ADJUSTMENT, { amount: 15 }],
  ["an adjustment for another reason", adjust, ADJUSTMENT, { reason: "Counted thrice" }],
] as const)(
  "%s with the reference of an earlier, different booking is answered with 409 and not booked",
  async (_, book, order, other) => {
    const account = await anAccount(20);
    await book(account, order);
    expect(await refusal(await book(account, { ...order, ...other }))).toEqual(REUSED);
    expect(await balanceOf(account)).toBe(20 + order.amount);
  },
);

it("the same reference may be used for a grant and for an adjustment, and in two accounts", async () => {
  const { reference } = ADJUSTMENT;
  for (const account of [await anAccount(), await anAccount()]) {
    expect((await give(account, { reference, amount: 5 })).status).toBe(201);
    expect((await adjust(account, ADJUSTMENT)).status).toBe(201);
    expect(await balanceOf(account)).toBe(-10);
  }
});

it("grants can raise the balance to at most 2^52, and adjustments can change it to anything from -2^52 to 2^52", async () => {
  const granted = await anAccount();
  expect((await give(granted, { reference: "to", amount: MAX })).status).toBe(201);
  expect(await refusal(await give(granted, GRANT))).toEqual(invalid("/amount"));
  expect(await booksOf(granted)).toEqual([`grant ${MAX}`]);

  const adjusted = await anAccount();
  for (const sign of [1, -1]) {
    const order = { reference: `to ${sign}`, amount: sign * MAX, reason: "x" };
    expect((await adjust(adjusted, order)).status).toBe(201);
    const beyond = { ...order, reference: `beyond ${sign}`, amount: sign };
    expect(await refusal(await adjust(adjusted, beyond))).toEqual(invalid("/amount"));
    await adjust(adjusted, { reference: `back ${sign}`, amount: -sign * MAX, reason: "x" });
  }
  expect(await balanceOf(adjusted)).toBe(0);
});

// The fuzz test of bodies compares every field with the contract; here are examples.
it.each([
  ["a grant of zero credits", give, { ...GRANT, amount: 0 }, "/amount"],
  [
    "a grant whose reference has a lone surrogate",
    give,
    { ...GRANT, reference: "\ud800" },
    "/reference",
  ],
  ["a grant without reference", give, { amount: 1 }, "/reference"],
  ["an adjustment of zero credits", adjust, { ...ADJUSTMENT, amount: 0 }, "/amount"],
  ["an adjustment without reason", adjust, { ...ADJUSTMENT, reason: undefined }, "/reason"],
] as const)(
  "in the ledger of an account, %s is refused and not booked",
  async (_, book, body, path) => {
    const account = await anAccount(5);
    expect(await refusal(await book(account, body))).toEqual(invalid(path));
    expect(await booksOf(account)).toEqual(["grant 5"]);
  },
);

it("while an account's balance is negative, the registration of a task with a price is refused, until enough credits are granted", async () => {
  const account = await anAccount(10);
  await adjust(account, ADJUSTMENT);
  const refused = await post("/v1/tasks", priced(account, 1));
  const problem = { code: "insufficient_credits", balance: -5, price: 1 };
  expect(await refused.json()).toMatchObject(problem);
  await grant(account, 6);
  await aCharged(account, 1);
  expect(await balanceOf(account)).toBe(0);
});

it("an account's ledger has a charge and an adjustment below zero, each with the name of the key that booked it, and the refund of a task that fails afterwards", async () => {
  const received = aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  const before = await entriesOf(account);
  expect(before[0]?.booked_by).toBe(OPERATOR_NAME);
  for (const status of [201, 200]) {
    expect((await adjust(account, ADJUSTMENT)).status).toBe(status);
  }
  const [adjustment, ...others] = await entriesOf(account);
  expect(others).toEqual(before);
  expect(adjustment?.booked_by).toBe(OPERATOR_NAME);
  await finish(aFailure(id));
  expect(await read(id)).toMatchObject({ credits: { state: "refunded" } });
  expect(received).toHaveLength(1);
  expect(await booksOf(account)).toEqual(["grant 10", "charge 4", "adjustment -15", "refund 4"]);
  expect(await balanceOf(account)).toBe(-5);
});
