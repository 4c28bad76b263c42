import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { aReceiver, type Received, status } from "./receiver.ts";
import { post } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { evict, restart, stored, stubOf, untilIdle } from "./objects.ts";
import { aCompletion, read, register } from "./tasks.ts";

useClock();

const Stored = z.looseObject({ v: z.int() });

/** What can be wrong, and what puts it right. */
interface Fault {
  readonly begin: (id: string) => Promise<void>;
  readonly repair: (id: string) => Promise<void>;
}

function bindings(fault: object): Fault {
  return { begin: (id) => restart(id, { ...env, ...fault }), repair: (id) => restart(id) };
}

function put(id: string, value: unknown): Promise<void> {
  return runInDurableObject(stubOf(id), (_, { storage }) => storage.kv.put("task", value));
}

function record(spoil: (good: z.output<typeof Stored>) => unknown): Fault {
  let good: z.output<typeof Stored> | null = null;
  return {
    begin: async (id) => {
      good = Stored.parse((await stored(id)).record);
      await put(id, spoil(good));
      await evict(id);
    },
    repair: async (id) => {
      await put(id, good);
      await evict(id);
    },
  };
}

/** A function of the language on which the core's choice of a step or a wake depends. */
function core(name: "find" | "map"): Fault {
  const original = Object.getOwnPropertyDescriptor(Array.prototype, name);
  return {
    begin: () => {
      const native: unknown = original?.value;
      if (typeof native !== "function") throw new Error("expected a function");
      Reflect.defineProperty(Array.prototype, name, {
        ...original,
        value(this: readonly unknown[], ...args: readonly unknown[]): unknown {
          if (isDuties(this)) throw new RangeError("the core has thrown");
          return Reflect.apply(native, this, args);
        },
      });
      return Promise.resolve();
    },
    repair: () => {
      if (original !== undefined) Reflect.defineProperty(Array.prototype, name, original);
      return Promise.resolve();
    },
  };
}

function isDuties(list: readonly unknown[]): boolean {
  const first = list[0];
  return typeof first === "object" && first !== null && "dueAt" in first && "step" in first;
}

const FAULTS: readonly [string, () => Fault, RegExp][] = [
  ["no RELAY_SECRET", () => bindings({ RELAY_SECRET: "" }), /RELAY_SECRET/],
  ["a malformed schedule", () => bindings({ CALLBACK_SCHEDULE_S: "soon" }), /CALLBACK_SCHEDULE_S/],
  ["a record of a later release", () => record((good) => ({ ...good, v: 2 })), /unreadable.* v/],
  [
    "a record without its id",
    () => record((good) => ({ ...good, id: undefined })),
    /unreadable.* id/,
  ],
  ["a record that is text", () => record(() => "{}"), /unreadable/],
  ["a throw in the core", () => core("find"), /the core has thrown/],
];

/** Ten alarms, each failing: each leaves the next one a minute ahead, and everything else as it was. */
async function failTenTimes(
  id: string,
  error: RegExp,
  received: readonly Received[],
): Promise<void> {
  const before = await stored(id);
  const sent = received.length;
  for (let time = 0; time < 10; time++) {
    await expect(runDurableObjectAlarm(stubOf(id))).rejects.toThrow(error);
    const after = await stored(id);
    expect(after).toEqual({ ...before, alarm: Date.now() + 60_000 });
    pass(60_000);
  }
  expect(received).toHaveLength(sent);
}

describe.each(FAULTS)("after ten failures in a row for %s", (_, fault, error) => {
  it("a callback that was due is delivered by the alarm alone, as the second attempt", async () => {
    const received = aReceiver(status(500), status(200));
    const id = await register();
    await post("/v1/events", aCompletion(id));
    await untilIdle(id);
    const { begin, repair } = fault();
    await begin(id);
    pass(180_000);
    try {
      await failTenTimes(id, error, received);
    } finally {
      await repair(id);
    }
    expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
    expect(received.map(({ headers }) => headers["x-attempt"])).toEqual(["1", "2"]);
    expect(await read(id)).toMatchObject({
      callback: { status: "delivered", attempts: [{ number: 1 }, { number: 2 }] },
    });
  });

  it("an open task is closed at its deadline by the alarm alone, and called back", async () => {
    const received = aReceiver();
    const id = await register({ deadline_at: START_S + 60 });
    const { begin, repair } = fault();
    await begin(id);
    pass(60_000);
    try {
      await failTenTimes(id, error, received);
    } finally {
      await repair(id);
    }
    expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
    expect(received).toHaveLength(1);
    expect(await read(id)).toMatchObject({ status: "failed", callback: { status: "delivered" } });
  });
});

describe("a throw where the next wake is decided", () => {
  it("takes the same way back", async () => {
    const received = aReceiver();
    const id = await register({ deadline_at: START_S + 3600 });
    const { begin, repair } = core("map");
    await begin(id);
    try {
      await failTenTimes(id, /the core has thrown/, received);
    } finally {
      await repair(id);
    }
    await runDurableObjectAlarm(stubOf(id));
    expect((await stored(id)).alarm).toBe((START_S + 3600) * 1000);
    expect(await read(id)).toMatchObject({ status: "pending" });
  });
});
