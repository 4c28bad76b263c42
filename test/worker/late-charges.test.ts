import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { accountStub, anAccount, booksOf, grant } from "./accounts.ts";
import { pass, START, useClock } from "./clock.ts";

useClock();

const ORDER = { reference: "charge-1", amount: 4 };
const TASK = crypto.randomUUID();
/** The time until which the account may still book the charge. */
const VALID_UNTIL = START + 2000;

it("a refused charge stays refused when the same call arrives late, after a grant", async () => {
  const account = await anAccount(1);
  const ledger = accountStub(account);
  const refused = await ledger.charge(ORDER, TASK, VALID_UNTIL);
  expect(refused).toEqual({ kind: "insufficient", balance: 1, price: 4 });
  await grant(account, 10);
  pass(60_000);
  expect(await ledger.charge(ORDER, TASK, VALID_UNTIL + 60_000)).toEqual(refused);
  expect(await booksOf(account)).toEqual(["grant 1", "grant 10"]);
});

it("a refused charge does not prevent another charge from being booked once", async () => {
  const account = await anAccount(4);
  const ledger = accountStub(account);
  await ledger.charge({ ...ORDER, amount: 5 }, TASK, VALID_UNTIL);
  const other = { reference: "charge-2", amount: 4 };
  expect(await ledger.charge(other, TASK, VALID_UNTIL)).toMatchObject({ kind: "charged" });
  expect(await ledger.charge(other, TASK, VALID_UNTIL)).toMatchObject({ kind: "charged" });
  expect(await booksOf(account)).toEqual(["grant 4", "charge 4"]);
});

it("a charge refused for a missing account stays refused when the account is created", async () => {
  const ledger = accountStub(`later-${crypto.randomUUID()}`);
  const refused = await ledger.charge(ORDER, TASK, VALID_UNTIL);
  expect(refused).toEqual({ kind: "unknown_account" });
  await ledger.create();
  expect(await ledger.charge(ORDER, TASK, VALID_UNTIL)).toEqual(refused);
});

it("a refusal of a charge is forgotten after a thousand later ones", async () => {
  const account = await anAccount(1);
  const ledger = accountStub(account);
  await ledger.charge(ORDER, TASK, VALID_UNTIL);
  await runInDurableObject(ledger, (instance) => {
    for (let i = 0; i < 1000; i++) {
      instance.charge({ reference: `other-${i}`, amount: 4 }, TASK, VALID_UNTIL);
    }
  });
  await grant(account, 10);
  expect(await ledger.charge(ORDER, TASK, VALID_UNTIL)).toMatchObject({ kind: "charged" });
});

it("a charge that arrives after its expiry is answered as unknown and not booked", async () => {
  const account = await anAccount(100);
  const late = await accountStub(account).charge(ORDER, TASK, START - 1);
  expect(late).toMatchObject({ kind: "unknown" });
  expect(await booksOf(account)).toEqual(["grant 100"]);
});
