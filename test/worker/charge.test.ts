import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import {
  aCharged,
  accountStub,
  anAccount,
  balanceOf,
  booksOf,
  entriesOf,
  grant,
  priced,
} from "./accounts.ts";
import { call, invalid, post, ProblemBody, refusal } from "./client.ts";
import { pass, START, useClock } from "./clock.ts";
import { NOTHING, stored } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, aFailure, erase, finish, read, report, taskOf } from "./tasks.ts";

useClock();

const CHARGED = ["grant 10", "charge 4"];

it("a registration with a price answers 201 only after the credits are charged, and shows them as charged", async () => {
  const account = await anAccount(10);
  const body = priced(account, 4);
  const response = await post("/v1/tasks", body);
  expect(response.status).toBe(201);
  expect(response.headers.get("Location")).toBe(`/v1/tasks/${body.id}`);
  const task = await taskOf(response);
  const credits = { amount: 4, state: "charged" };
  expect(task).toMatchObject({ status: "pending", account, credits });
  expect(task).toEqual({ ...(await read(body.id)), status_url: expect.any(String) });
  expect(await booksOf(account)).toEqual(CHARGED);
});

it("a repeated registration with a price is charged only once, even after the task has ended", async () => {
  aReceiver();
  const account = await anAccount(10);
  const body = priced(account, 4);
  const first = await (await post("/v1/tasks", body)).text();
  const again = await post("/v1/tasks", body);
  expect([again.status, await again.text()]).toEqual([200, first]);
  await finish(aCompletion(body.id));
  expect((await post("/v1/tasks", body)).status).toBe(200);
  expect(await read(body.id)).toMatchObject({ status: "completed", credits: { amount: 4 } });
  expect(await booksOf(account)).toEqual(CHARGED);
});

it("when a task with a price is registered again after it was erased, its price is charged again", async () => {
  aReceiver();
  const account = await anAccount(10);
  const body = priced(account, 4);
  for (let life = 0; life < 2; life++) {
    expect((await post("/v1/tasks", body)).status).toBe(201);
    await finish(aFailure(body.id));
    expect((await erase(body.id)).status).toBe(204);
  }
  expect((await post("/v1/tasks", body)).status).toBe(201);
  const paid = ["charge 4", "refund 4"];
  expect(await booksOf(account)).toEqual(["grant 10", ...paid, ...paid, "charge 4"]);
  const charges = (await entriesOf(account)).filter(({ kind }) => kind === "charge");
  expect(new Set(charges.map(({ reference }) => reference)).size).toBe(3);
});

it("the registration of a task that its account cannot pay gets 402 with the balance and the price, and nothing is stored", async () => {
  const account = await anAccount(3);
  const body = priced(account, 4);
  const response = await post("/v1/tasks", body);
  expect(response.status).toBe(402);
  const problem = ProblemBody.parse(await response.json());
  expect(problem).toMatchObject({ code: "insufficient_credits", balance: 3, price: 4 });
  expect(await stored(body.id)).toEqual(NOTHING);
  expect((await call(`/v1/tasks/${body.id}`)).status).toBe(404);
  expect((await report(aCompletion(body.id))).status).toBe(404);
  expect(await booksOf(account)).toEqual(["grant 3"]);
});

it("when 60 tasks are registered at once, exactly as many are accepted as the account can pay, and the others are refused", async () => {
  const account = await anAccount(20 * 3 + 2);
  const bodies = Array.from({ length: 60 }, () => priced(account, 3));
  const statuses = await Promise.all(
    bodies.map(async (body) => (await post("/v1/tasks", body)).status),
  );
  expect(statuses.filter((status) => status === 201)).toHaveLength(20);
  expect(statuses.filter((status) => status === 402)).toHaveLength(40);
  expect(await balanceOf(account)).toBe(2);
  const paid = (await entriesOf(account)).flatMap(({ task_id }) => task_id ?? []);
  const created = bodies.flatMap(({ id }, i) => (statuses[i] === 201 ? [id] : []));
  expect(paid.toSorted()).toEqual(created.toSorted());
});

it("a registration with a price must have an account, and either an id or an Idempotency-Key", async () => {
  const account = await anAccount(10);
  const { id, credits, model } = priced(account, 4);
  const before = (await listDurableObjectIds(env.TASKS)).length;
  for (const [path, body] of [
    ["/account", { id, model, credits }],
    ["/account", { id, model, credits, account: null }],
    ["/id", { model, credits, account }],
    ["/id", { model, credits, account, id: null }],
  ] as const) {
    expect(await refusal(await post("/v1/tasks", body))).toEqual(invalid(path));
  }
  expect(await listDurableObjectIds(env.TASKS)).toHaveLength(before);
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  for (const status of [201, 200]) {
    expect((await post("/v1/tasks", { model, credits, account }, { headers })).status).toBe(status);
  }
  expect(await balanceOf(account)).toBe(6);
});

it.each<[string, object, string]>([
  ["the price 0", { credits: 0 }, "/credits"],
  ["a price and a past deadline", { deadline_at: 5 }, "/deadline_at"],
  ["a price and a private callback_url", { callback_url: "https://10.0.0.1/" }, "/callback_url"],
])("a registration with %s is refused, and nothing is charged", async (_, fields, path) => {
  const account = await anAccount(10);
  const body = priced(account, 1, fields);
  expect(await refusal(await post("/v1/tasks", body))).toEqual(invalid(path));
  expect(await stored(body.id)).toEqual(NOTHING);
  expect(await booksOf(account)).toEqual(["grant 10"]);
});

const ORDER = { reference: "charge-1", amount: 4 };
const TASK = crypto.randomUUID();
/** Time until which the ledger may still book the charge. */
const VALID_UNTIL = START + 2000;

it("a charge that was refused for lack of credits stays refused when the same charge is ordered again after a grant", async () => {
  const account = await anAccount(1);
  const ledger = accountStub(account);
  const refused = await ledger.charge(ORDER, TASK, VALID_UNTIL, null, "m");
  expect(refused).toEqual({ kind: "insufficient", balance: 1, price: 4 });
  await grant(account, 10);
  pass(60_000);
  expect(await ledger.charge(ORDER, TASK, VALID_UNTIL + 60_000, null, "m")).toEqual(refused);
  expect(await booksOf(account)).toEqual(["grant 1", "grant 10"]);
});

it("an account's ledger that has refused a charge books a later charge, and only once even when that charge is ordered again", async () => {
  const account = await anAccount(4);
  const ledger = accountStub(account);
  await ledger.charge({ ...ORDER, amount: 5 }, TASK, VALID_UNTIL, null, "m");
  const other = { reference: "charge-2", amount: 4 };
  expect(await ledger.charge(other, TASK, VALID_UNTIL, null, "m")).toMatchObject({
    kind: "charged",
  });
  expect(await ledger.charge(other, TASK, VALID_UNTIL, null, "m")).toMatchObject({
    kind: "charged",
  });
  expect(await booksOf(account)).toEqual(["grant 4", "charge 4"]);
});

it("a charge that was refused because its account did not exist stays refused after the account is created", async () => {
  const ledger = accountStub(`later-${crypto.randomUUID()}`);
  const refused = await ledger.charge(ORDER, TASK, VALID_UNTIL, null, "m");
  expect(refused).toEqual({ kind: "unknown_account" });
  await ledger.create();
  expect(await ledger.charge(ORDER, TASK, VALID_UNTIL, null, "m")).toEqual(refused);
});

it("after a thousand more refusals, an account's ledger no longer remembers a refused charge, and books it when it is ordered again", async () => {
  const account = await anAccount(1);
  const ledger = accountStub(account);
  await ledger.charge(ORDER, TASK, VALID_UNTIL, null, "m");
  await runInDurableObject(ledger, (instance) => {
    for (let i = 0; i < 1000; i++) {
      instance.charge({ reference: `other-${i}`, amount: 4 }, TASK, VALID_UNTIL, null, "m");
    }
  });
  await grant(account, 10);
  expect(await ledger.charge(ORDER, TASK, VALID_UNTIL, null, "m")).toMatchObject({
    kind: "charged",
  });
});

it("when a task with a price is registered, the account's ledger may book the charge only in the 2 s for which the registration waits for the ledger", async () => {
  const charged = vi.spyOn(AccountObject.prototype, "charge");
  await aCharged(await anAccount(10), 4);
  expect(charged.mock.calls.map(([, , notAfter]) => notAfter)).toEqual([START + 2_000]);
});

it("a charge that reaches an account's ledger after the time until which it may be booked is not booked, and its outcome counts as unknown", async () => {
  const account = await anAccount(100);
  const late = await accountStub(account).charge(ORDER, TASK, START - 1, null, "m");
  expect(late).toMatchObject({ kind: "unknown" });
  expect(await booksOf(account)).toEqual(["grant 100"]);
});
