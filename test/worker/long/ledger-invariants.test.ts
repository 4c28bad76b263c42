import { runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { aKey, anAccount, balanceOf, breakLedger, entriesOf, priced } from "../accounts.ts";
import { aReceiver } from "../receiver.ts";
import { call, post } from "../client.ts";
import { pass, useClock } from "../clock.ts";
import { evict, stored, stubOf, untilIdle } from "../objects.ts";
import { aCompletion, aFailure, read } from "../tasks.ts";

useClock();

const STEPS = 120;

/** Returns a Park-Miller generator: the same rolls for the same seed. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % sides;
  };
}

const nothing = (): void => undefined;

/** Performs random actions on one account and its tasks; returns the ids of the tasks. */
async function live(roll: (sides: number) => number, account: string): Promise<readonly string[]> {
  const { key } = await aKey(account);
  const bodies: ReturnType<typeof priced>[] = [];
  const any = () => bodies[roll(Math.max(bodies.length, 1))] ?? priced(account, 1);
  let heal = nothing;
  const actions: readonly (() => Promise<unknown>)[] = [
    () =>
      post(`/v1/accounts/${account}/grants`, { reference: `g${roll(9)}`, amount: 1 + roll(20) }),
    () => {
      const body = priced(account, 1 + roll(9));
      bodies.push(body);
      return Promise.all([post("/v1/tasks", body), post("/v1/tasks", body)]);
    },
    () => post("/v1/tasks", any()),
    () => post("/v1/events", aCompletion(any().id)),
    () => post("/v1/events", aFailure(any().id)),
    () => {
      const { id } = any();
      return Promise.all([post("/v1/events", aCompletion(id)), post("/v1/events", aFailure(id))]);
    },
    () => post(`/v1/tasks/${any().id}/cancel`, ""),
    () => post(`/v1/tasks/${any().id}/redeliver`, "", { key }),
    () => call(`/v1/tasks/${any().id}`, { method: "DELETE" }),
    () => evict(any().id),
    async () => {
      heal();
      heal = await breakLedger(account);
    },
    async () => heal(),
    async () => {
      pass(1000 * (1 + roll(600)));
      for (const { id } of bodies) await runDurableObjectAlarm(stubOf(id));
    },
  ];
  for (let step = 0; step < STEPS; step++) await actions[roll(actions.length)]?.();
  heal();
  return bodies.map(({ id }) => id);
}

/** Runs alarms until every task is settled. */
async function settle(ids: readonly string[]): Promise<void> {
  for (let round = 0; round < 6; round++) {
    pass(900_000);
    for (const id of ids) {
      await runDurableObjectAlarm(stubOf(id));
      await untilIdle(id);
    }
  }
}

describe("the ledger of an account after random actions in random order", () => {
  it.each([1, 2, 3, 4, 5, 6])(
    "adds up and matches every task (seed %d)",
    { timeout: 60_000 },
    async (seed) => {
      const account = await anAccount(50);
      const received = aReceiver(async () => {
        // A receiver may read the ledger while its callback is delivered.
        await entriesOf(account);
        return new Response(null, { status: seed % 2 === 0 ? 200 : 500 });
      });
      const ids = await live(dice(seed * 7919), account);
      await settle(ids);
      const entries = await entriesOf(account);
      const signed = entries.map(({ kind, amount }) => (kind === "charge" ? -amount : amount));
      expect(signed.reduce((sum, amount) => sum + amount, 0)).toBe(await balanceOf(account));
      for (const { balance } of entries) expect(balance).toBeGreaterThanOrEqual(0);
      const of = (kind: string) => entries.filter((entry) => entry.kind === kind);
      const charged = new Map(of("charge").map((entry) => [entry.reference, entry]));
      const refunded = new Map(of("refund").map((entry) => [entry.reference, entry]));
      expect([charged.size, refunded.size]).toEqual([of("charge").length, of("refund").length]);
      for (const [reference, { amount, task_id }] of refunded) {
        expect(charged.get(reference)).toMatchObject({ amount, task_id });
      }
      expect(charged.size).toBeGreaterThan(2);
      await expectEveryTaskPaid(ids, charged, refunded);
      expect(received.length).toBeGreaterThan(0);
    },
  );
});

type Booked = ReadonlyMap<string, { readonly task_id?: string | undefined }>;

/** Expects each stored task to have its last charge, and a refund exactly when it failed. */
async function expectEveryTaskPaid(
  ids: readonly string[],
  charged: Booked,
  refunded: Booked,
): Promise<void> {
  for (const id of ids) {
    const last = [...charged].find(([, { task_id }]) => task_id === id)?.[0];
    const { record } = await stored(id);
    if (record === undefined) continue;
    const { status, credits } = await read(id);
    expect(last).toBeDefined();
    expect(refunded.has(last ?? "")).toBe(status === "failed");
    expect(credits).toMatchObject({ state: status === "failed" ? "refunded" : "charged" });
  }
}
