import { describe, expect, it } from "vitest";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { parseRecord } from "../../src/task-object/record-schema.ts";
import {
  aCallback,
  aFinishedTask,
  aPolicy,
  aRedelivery,
  anAttempt,
  anEnd,
  callbackOf,
  HOUR,
  NOW,
  URL_A,
  URL_B,
} from "./builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";

const ORDERERS = ["operator", "owner"] as const;
const failed = aFinishedTask({
  callback: aCallback({
    attempts: [1, 2, 3].map((number) => anAttempt({ number, outcome: "timeout" })),
    lastNumber: 3,
    series: { number: 1, started: 3, ordered: null, keyName: null },
    state: { kind: "failed" },
    deliveredAt: null,
  }),
});

type Order = Parameters<typeof aRedelivery>[0];

/** Returns the record after these redeliveries, each of which has made its one attempt. */
function afterOrders(record: TaskRecord, ...orders: readonly Order[]): TaskRecord {
  return orders.reduce<TaskRecord>((task, order) => {
    const running = apply(task, aRedelivery(order));
    return apply(running, anEnd(callbackOf(running).lastNumber));
  }, record);
}

function keys(...names: readonly string[]): readonly { idempotencyKey: string }[] {
  return names.map((idempotencyKey) => ({ idempotencyKey }));
}

describe("the Idempotency-Key of a redelivery", () => {
  const keyed = aRedelivery({ idempotencyKey: "k1" });
  const running = finish(failed, keyed);
  const settled = finish(running, anEnd(4));

  it("a redelivery repeated with the same Idempotency-Key starts no second series of attempts, neither while the first one runs nor after it", () => {
    for (const record of [running, settled]) expectUnchanged(record, keyed, NOW + HOUR);
  });

  it("a redelivery repeated with its Idempotency-Key after orders with another key, or without one, starts nothing", () => {
    const record = afterOrders(failed, ...keys("k1", "k2"), { idempotencyKey: null });
    expectUnchanged(record, keyed);
    expectUnchanged(record, aRedelivery({ idempotencyKey: "k2" }));
  });

  it("a redelivery with a new Idempotency-Key starts another series of attempts", () => {
    const callback = callbackOf(apply(settled, aRedelivery({ idempotencyKey: "k2" })));
    expect(callback).toMatchObject({ lastOrderKey: "k2", series: { number: 3 } });
  });

  it.each(ORDERERS)(
    "a task remembers the last eight Idempotency-Keys of redeliveries by the %s; the ninth before starts a redelivery again",
    (orderedBy) => {
      const names = ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"];
      const orders = keys(...names).map((order) => ({ ...order, orderedBy }));
      const record = afterOrders(failed, ...orders);
      expect(callbackOf(record).keyedOrders[orderedBy]).toHaveLength(8);
      for (const order of orders.slice(1)) expectUnchanged(record, aRedelivery(order));
      const again = apply(record, aRedelivery(orders[0]));
      expect(callbackOf(again).series.number).toBe(11);
      expect(callbackOf(again).keyedOrders[orderedBy]).toHaveLength(8);
    },
  );

  it("redeliveries by the operator make the task forget no Idempotency-Key of the account that owns it", () => {
    const own = { idempotencyKey: "k1", orderedBy: "owner" } as const;
    const others = keys("k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9");
    expectUnchanged(afterOrders(failed, own, ...others), aRedelivery(own));
  });

  it.each([
    ["operator", "owner", { lastOrderKey: "k1", lastOwnerOrderKey: "k2" }],
    ["owner", "operator", { lastOrderKey: "k2", lastOwnerOrderKey: "k1" }],
  ] as const)(
    "the %s and the %s may each redeliver with one and the same Idempotency-Key; each one's last key is stored as earlier releases read it",
    (orderedBy, other, lastKeys) => {
      const first = { ...keyed, orderedBy };
      const second = aRedelivery({ idempotencyKey: "k2", orderedBy: other });
      const record = afterOrders(failed, first, { ...keyed, orderedBy: other }, second);
      expect(callbackOf(record)).toMatchObject({ ...lastKeys, series: { number: 4 } });
      for (const order of [first, { ...keyed, orderedBy: other }, second]) {
        expectUnchanged(record, order);
      }
    },
  );

  it("a second redelivery without an Idempotency-Key is not a repetition of the first", () => {
    expect(apply(failed, aRedelivery()).version).toBeGreaterThan(failed.version);
    expect(callbackOf(apply(failed, aRedelivery())).keyedOrders.operator).toEqual([]);
  });

  it("a redelivery with the Idempotency-Key of one that joined an attempt held back by a pause starts nothing, also after further orders", () => {
    const paused = aPolicy({ pausedAt: NOW });
    const state = { kind: "due", nextAttemptAt: NOW } as const;
    let record: TaskRecord = aFinishedTask({ callback: aCallback({ state, attempts: [] }) });
    for (const order of keys("k1", "k2")) record = apply(record, aRedelivery(order), NOW, paused);
    for (const order of keys("k1", "k2")) expectUnchanged(record, aRedelivery(order));
  });
});

describe("a redelivery under a remembered Idempotency-Key with another callback_url", () => {
  it.each([
    ["a callback_url, when the first named none", null, URL_A],
    ["another callback_url than the first", URL_A, URL_B],
    ["no callback_url, when the first named one", URL_B, null],
  ])("a redelivery under the same Idempotency-Key is refused if it names %s", (_, first, then) => {
    const order = aRedelivery({ idempotencyKey: "k1", callbackUrl: first });
    const other = aRedelivery({ idempotencyKey: "k1", callbackUrl: then });
    const running = finish(failed, order);
    const settled = finish(running, anEnd(4));
    for (const record of [running, settled, afterOrders(settled, ...keys("k2"))]) {
      expectRefused(record, other, "idempotency_key_reused");
      expectUnchanged(record, order);
    }
  });

  it("a redelivery under an Idempotency-Key that only another caller has used with another callback_url is accepted", () => {
    const record = afterOrders(failed, { idempotencyKey: "k1", callbackUrl: URL_A });
    const other = aRedelivery({ idempotencyKey: "k1", callbackUrl: URL_B, orderedBy: "owner" });
    expect(callbackOf(apply(record, other)).url).toBe(URL_B);
  });
});

/** Returns a record as an earlier release leaves it: with the latest keys, and the remembered orders as they were. */
function readBack(record: TaskRecord, latest: object, without: readonly string[] = []) {
  const entries = Object.entries({ ...callbackOf(record), ...latest });
  const callback = Object.fromEntries(entries.filter(([name]) => !without.includes(name)));
  return parseRecord(structuredClone({ ...record, callback }));
}

describe("a record in which a release has stored only the latest Idempotency-Key of each caller", () => {
  it.each([null, URL_B])(
    "a redelivery under a key that an earlier release has stored starts nothing, with the callback_url %s",
    (callbackUrl) => {
      const latest = { lastOrderKey: "k1", lastOwnerOrderKey: "k2" };
      const record = readBack(failed, latest, ["keyedOrders"]);
      expectUnchanged(record, aRedelivery({ idempotencyKey: "k1", callbackUrl }));
      expectUnchanged(
        record,
        aRedelivery({ idempotencyKey: "k2", callbackUrl, orderedBy: "owner" }),
      );
      const further = afterOrders(record, ...keys("k3", "k4"));
      expectUnchanged(further, aRedelivery({ idempotencyKey: "k1", callbackUrl }));
    },
  );

  it("a key that a release has stored during a downgrade is remembered beside those from before it, of which the oldest goes", () => {
    const names = ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8"];
    const record = readBack(afterOrders(failed, ...keys(...names)), { lastOrderKey: "k9" });
    for (const order of keys(...names.slice(1), "k9")) expectUnchanged(record, aRedelivery(order));
    expect(callbackOf(record).keyedOrders.operator).toHaveLength(8);
    expect(callbackOf(apply(record, aRedelivery(keys("k1")[0]))).series.number).toBe(10);
  });
});
