import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { accountStub, anAccount, balanceOf } from "./accounts.ts";
import { DAY_MS, useClock } from "./clock.ts";

useClock();

/** Stores entries and an alarm in an object of the class `AccountObject`, as an earlier release did. */
async function withAlarm(name: string, entries: Readonly<Record<string, unknown>>) {
  const object = env.ACCOUNTS.getByName(`${name}${crypto.randomUUID()}`);
  await runInDurableObject(object, async (_, { storage }) => {
    for (const [key, value] of Object.entries(entries)) storage.kv.put(key, value);
    await storage.setAlarm(Date.now() + DAY_MS);
  });
  return object;
}

type Stub = ReturnType<typeof accountStub>;

/** Runs the alarm of an object. @returns the keys that it stores afterwards, and its alarm. */
async function afterAlarm(object: Stub) {
  expect(await runDurableObjectAlarm(object)).toBe(true);
  return runInDurableObject(object, async (_, { storage }) => ({
    keys: Array.from(storage.kv.list(), ([key]) => key),
    alarm: await storage.getAlarm(),
  }));
}

const DIGEST = { host: "a.example", since: 1, dueAt: 2, failed: 1, tasks: ["t"], tries: 0 };

it.each([
  ["counted the failures of a receiver's host", "host:", { failures: [1], told_at: 1 }],
  ["gathered failed callbacks", "digest:", { digest: DIGEST }],
  ["was sending a digest of failed callbacks", "digest:", { digest_closed: DIGEST }],
])(
  "an object of the class AccountObject that %s in an earlier release erases itself at its alarm",
  async (_, name, entries) => {
    expect(await afterAlarm(await withAlarm(name, entries))).toEqual({ keys: [], alarm: null });
  },
);

it("an alarm of an AccountObject erases nothing in an object with claims to API keys, the jurisdiction or a ledger, which this class still has", async () => {
  const claims = await withAlarm("keys:", { ["a".repeat(64)]: { accountId: "a", role: "full" } });
  expect(await afterAlarm(claims)).toMatchObject({ keys: ["a".repeat(64)] });
  const marker = await withAlarm("index:", { jurisdiction: "eu", told_at: 1 });
  expect(await afterAlarm(marker)).toMatchObject({ keys: ["jurisdiction", "told_at"] });
  const account = await anAccount(10);
  expect(await afterAlarm(accountStub(account))).toMatchObject({ keys: ["account"] });
  expect(await balanceOf(account)).toBe(10);
});
