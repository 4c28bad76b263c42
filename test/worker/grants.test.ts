import { expect, it } from "vitest";
import { anAccount, balanceOf, booksOf } from "./accounts.ts";
import { call, invalid, post, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";

useClock();

/** The highest balance that grants may lead to; refunds may exceed it. */
const MAX = 2 ** 52;
const GRANT = { reference: "order 7 €", amount: 10 };

function give(account: string, body: unknown): Promise<Response> {
  return post(`/v1/accounts/${account}/grants`, body);
}

it("POST /v1/accounts/{account}/grants answers 201 with the grant and the new balance, and 200 without booking to a repeat", async () => {
  const account = await anAccount(5);
  for (const status of [201, 200]) {
    const response = await give(account, GRANT);
    expect([response.status, await response.json()]).toEqual([status, { ...GRANT, balance: 15 }]);
    pass(5000);
  }
  expect(await booksOf(account)).toEqual(["grant 5", "grant 10"]);
});

it("POST /v1/accounts/{account}/grants answers 409 to another amount under a known reference, and books nothing", async () => {
  const account = await anAccount();
  await give(account, GRANT);
  for (const amount of [9, 11, MAX]) {
    const answer = await refusal(await give(account, { ...GRANT, amount }));
    expect(answer).toEqual({ status: 409, code: "reference_reused" });
  }
  expect(await booksOf(account)).toEqual(["grant 10"]);
});

it("POST /v1/accounts/{account}/grants accepts the same reference in two accounts", async () => {
  for (const account of [await anAccount(), await anAccount()]) {
    expect((await give(account, GRANT)).status).toBe(201);
  }
});

it("POST /v1/accounts/{account}/grants books one grant when twenty equal requests arrive at once", async () => {
  const account = await anAccount();
  const answers = await Promise.all(Array.from({ length: 20 }, () => give(account, GRANT)));
  const statuses = answers.map(({ status }) => String(status));
  expect(statuses.toSorted()).toEqual([...Array<string>(19).fill("200"), "201"]);
  expect(await balanceOf(account)).toBe(10);
});

it("POST /v1/accounts/{account}/grants raises the balance exactly up to 2^52 and rejects what would exceed it", async () => {
  const account = await anAccount();
  expect((await give(account, { reference: "a", amount: MAX })).status).toBe(201);
  expect(await balanceOf(account)).toBe(MAX);
  for (const amount of [1, MAX]) {
    const answer = await refusal(await give(account, { reference: "b", amount }));
    expect(answer).toEqual(invalid("/amount"));
  }
  expect(await booksOf(account)).toEqual([`grant ${MAX}`]);
});

it.each<[string, unknown, string]>([
  ["a negative amount", { reference: "r", amount: -1 }, "/amount"],
  ["the amount zero", { reference: "r", amount: 0 }, "/amount"],
  ["a fractional amount", { reference: "r", amount: 0.5 }, "/amount"],
  ["an amount over 2^53-1", '{"reference":"r","amount":9007199254740992}', "/amount"],
  ["an infinite amount", '{"reference":"r","amount":1e999}', "/amount"],
  ["an amount as text", { reference: "r", amount: "1" }, "/amount"],
  ["an amount as a list", { reference: "r", amount: [1] }, "/amount"],
  ["the amount true", { reference: "r", amount: true }, "/amount"],
  ["the amount null", { reference: "r", amount: null }, "/amount"],
  ["a missing amount", { reference: "r" }, "/amount"],
  ["a missing reference", { amount: 1 }, "/reference"],
  ["an empty reference", { reference: "", amount: 1 }, "/reference"],
  ["a reference of 256 characters", { reference: "r".repeat(256), amount: 1 }, "/reference"],
  ["a number as a reference", { reference: 7, amount: 1 }, "/reference"],
  ["an unknown field", { reference: "r", amount: 1, balance: 5 }, "/balance"],
])("POST /v1/accounts/{account}/grants rejects %s and books nothing", async (_, body, path) => {
  const account = await anAccount(5);
  expect(await refusal(await give(account, body))).toEqual(invalid(path));
  expect(await booksOf(account)).toEqual(["grant 5"]);
});

it("GET /v1/accounts/{account}/grants lists only grants, newest first", async () => {
  const account = await anAccount();
  for (const amount of [1, 2]) await give(account, { reference: `r${amount}`, amount });
  const response = await call(`/v1/accounts/${account}/grants`);
  expect(await response.json()).toEqual({
    data: [
      { kind: "grant", amount: 2, balance: 3, reference: "r2", created_at: START_S },
      { kind: "grant", amount: 1, balance: 1, reference: "r1", created_at: START_S },
    ],
    next_cursor: null,
  });
});
