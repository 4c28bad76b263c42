import { describe, expect, it } from "vitest";
import { anAccount, balanceOf, booksOf, entriesOf } from "./accounts.ts";
import { call, post, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";

useClock();

/** What grants may bring a balance to; beyond it there is room for refunds. */
const MAX = 2 ** 52;

function give(account: string, body: unknown): Promise<Response> {
  return post(`/v1/accounts/${account}/grants`, body);
}

describe("POST /v1/accounts/{account}/grants", () => {
  it("answers 201 with the grant and the new balance", async () => {
    const account = await anAccount(5);
    const body = { reference: "order 7 €", amount: 10 };
    const response = await give(account, body);
    expect([response.status, await response.json()]).toEqual([201, { ...body, balance: 15 }]);
    expect((await entriesOf(account))[0]).toEqual({
      kind: "grant",
      ...body,
      balance: 15,
      created_at: START_S,
    });
  });

  it("answers 200 to the same grant again, and books nothing", async () => {
    const account = await anAccount();
    const body = { reference: "r", amount: 10 };
    await give(account, body);
    pass(5000);
    const response = await give(account, body);
    expect([response.status, await response.json()]).toEqual([200, { ...body, balance: 10 }]);
    expect(await booksOf(account)).toEqual(["grant 10"]);
  });

  it("answers 409 to another amount under a known reference, and books nothing", async () => {
    const account = await anAccount();
    await give(account, { reference: "r", amount: 10 });
    for (const amount of [9, 11, MAX]) {
      const answer = await refusal(await give(account, { reference: "r", amount }));
      expect(answer).toEqual({ status: 409, code: "reference_reused" });
    }
    expect(await booksOf(account)).toEqual(["grant 10"]);
  });

  it("keeps references of two accounts apart", async () => {
    for (const account of [await anAccount(), await anAccount()]) {
      expect((await give(account, { reference: "r", amount: 10 })).status).toBe(201);
    }
  });

  it("books one grant for twenty who ask at once", async () => {
    const account = await anAccount();
    const body = { reference: "r", amount: 10 };
    const answers = await Promise.all(Array.from({ length: 20 }, () => give(account, body)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
    expect(await balanceOf(account)).toBe(10);
  });

  it("counts exactly up to 2^52, and refuses what would pass it", async () => {
    const account = await anAccount();
    expect((await give(account, { reference: "a", amount: MAX })).status).toBe(201);
    expect(await balanceOf(account)).toBe(MAX);
    for (const amount of [1, MAX]) {
      const answer = await refusal(await give(account, { reference: "b", amount }));
      expect(answer).toEqual({ status: 400, code: "invalid_request", paths: ["/amount"] });
    }
    expect(await booksOf(account)).toEqual([`grant ${MAX}`]);
  });

  it.each<[string, unknown, string]>([
    ["a negative amount", { reference: "r", amount: -1 }, "/amount"],
    ["zero", { reference: "r", amount: 0 }, "/amount"],
    ["half a credit", { reference: "r", amount: 0.5 }, "/amount"],
    ["more than 2^53-1", '{"reference":"r","amount":9007199254740992}', "/amount"],
    ["an infinite amount", '{"reference":"r","amount":1e999}', "/amount"],
    ["an amount as text", { reference: "r", amount: "1" }, "/amount"],
    ["an amount as a list", { reference: "r", amount: [1] }, "/amount"],
    ["true", { reference: "r", amount: true }, "/amount"],
    ["null", { reference: "r", amount: null }, "/amount"],
    ["no amount", { reference: "r" }, "/amount"],
    ["no reference", { amount: 1 }, "/reference"],
    ["an empty reference", { reference: "", amount: 1 }, "/reference"],
    ["a reference of 256 characters", { reference: "r".repeat(256), amount: 1 }, "/reference"],
    ["a number as a reference", { reference: 7, amount: 1 }, "/reference"],
    ["an unknown field", { reference: "r", amount: 1, balance: 5 }, "/balance"],
  ])("refuses %s, and books nothing", async (_, body, path) => {
    const account = await anAccount(5);
    const paths = [path];
    expect(await refusal(await give(account, body))).toEqual({
      status: 400,
      code: "invalid_request",
      paths,
    });
    expect(await booksOf(account)).toEqual(["grant 5"]);
  });
});

describe("GET /v1/accounts/{account}/grants", () => {
  it("lists grants alone, newest first", async () => {
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
});
