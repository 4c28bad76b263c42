import { describe, expect, it } from "vitest";
import { accountStub, anAccount, booksOf, grant } from "./accounts.ts";
import { pass, START, useClock } from "./clock.ts";

useClock();

const ORDER = { reference: "charge-1", amount: 4 };
const TASK = crypto.randomUUID();

describe("a charge that was refused", () => {
  it("stays refused for a call of it that comes late, whatever was granted meanwhile", async () => {
    const account = await anAccount(1);
    const ledger = accountStub(account);
    const refused = await ledger.charge(ORDER, TASK, START + 2000);
    expect(refused).toEqual({ kind: "insufficient", balance: 1, price: 4 });
    await grant(account, 10);
    pass(60_000);
    expect(await ledger.charge(ORDER, TASK, START + 62_000)).toEqual(refused);
    expect(await booksOf(account)).toEqual(["grant 1", "grant 10"]);
  });

  it("does not keep another charge from being booked", async () => {
    const account = await anAccount(4);
    const ledger = accountStub(account);
    await ledger.charge({ ...ORDER, amount: 5 }, TASK, START + 2000);
    const other = { reference: "charge-2", amount: 4 };
    expect(await ledger.charge(other, TASK, START + 2000)).toMatchObject({ kind: "charged" });
    expect(await ledger.charge(other, TASK, START + 2000)).toMatchObject({ kind: "charged" });
    expect(await booksOf(account)).toEqual(["grant 4", "charge 4"]);
  });
});

it("stays refused by an account that is made a moment later", async () => {
  const account = `later-${crypto.randomUUID()}`;
  const ledger = accountStub(account);
  const refused = await ledger.charge(ORDER, TASK, START + 2000);
  expect(refused).toEqual({ kind: "unknown_account" });
  await ledger.create();
  expect(await ledger.charge(ORDER, TASK, START + 2000)).toEqual(refused);
});

it("is forgotten when a thousand others were refused after it", async () => {
  const account = await anAccount(1);
  const ledger = accountStub(account);
  await ledger.charge(ORDER, TASK, START + 2000);
  for (let i = 0; i < 1000; i++) {
    await ledger.charge({ reference: `other-${i}`, amount: 4 }, TASK, START + 2000);
  }
  await grant(account, 10);
  expect(await ledger.charge(ORDER, TASK, START + 2000)).toMatchObject({ kind: "charged" });
});
