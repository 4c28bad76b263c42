import { runInDurableObject } from "cloudflare:test";
import { env } from "../../src/startup.ts";
import { vi } from "vitest";
import * as z from "zod";
import { ledgerObject, profileObject } from "../../src/objects/object-names.ts";
import { sha256Hex } from "../../src/security/encoding.ts";
import { answerTo, aRequest, call, post } from "./client.ts";
import { until } from "./clock.ts";
import { CALLBACK_URL } from "./tasks.ts";

export const Entry = z.strictObject({
  kind: z.enum(["opening", "grant", "adjustment", "charge", "refund", "release"]),
  amount: z.int(),
  balance: z.int(),
  reference: z.string(),
  task_id: z.string().optional(),
  reason: z.string().optional(),
  created_at: z.int(),
  booked_by: z.string().optional(),
});
export type Entry = z.output<typeof Entry>;

export const Page = z.strictObject({
  data: z.array(Entry),
  next_cursor: z.string().nullable(),
});

/** Creates an account with the given credits, and returns its id. */
export async function anAccount(credits = 0): Promise<string> {
  const id = `acct_${crypto.randomUUID()}`;
  await expecting(201, post("/v1/accounts", { id }));
  if (credits > 0) await grant(id, credits);
  return id;
}

export async function grant(account: string, amount: number): Promise<void> {
  const reference = crypto.randomUUID();
  await expecting(201, post(`/v1/accounts/${account}/grants`, { reference, amount }));
}

/** Sets tags, low balance and monthly limit of an account; those that are left out are removed. */
export async function change(account: string, settings: object): Promise<void> {
  const body = JSON.stringify(settings);
  await expecting(200, call(`/v1/accounts/${account}`, { method: "PUT", body }));
}

/** Generates an API key for the account. */
export async function aKey(
  account: string,
  role = "full",
): Promise<{ readonly id: string; readonly name: string; readonly key: string }> {
  const response = await expecting(201, post(`/v1/accounts/${account}/keys`, { role }));
  const Key = z.looseObject({ id: z.string(), name: z.string(), key: z.string() });
  return Key.parse(await response.json());
}

/** Returns a new API key in the form of another system. */
export const aForeignKey = () => `sk-live-${crypto.randomUUID()}`;

/** Reads an account with an API key. @returns the status of the answer. */
export async function statusFor(account: string, key: string): Promise<number> {
  return (await call(`/v1/accounts/${account}`, { key })).status;
}

/** Imports an API key in the form of another system, and returns it with the answer of the relay. */
export async function anImportedKey(account: string, key = aForeignKey()) {
  const body = { sha256: await sha256Hex(key), label: "old" };
  const response = await expecting(201, post(`/v1/accounts/${account}/keys`, body));
  const view = z.looseObject({ id: z.string() }).parse(await response.json());
  return { id: view.id, key, view };
}

/** Builds the registration of a new task with a price. */
export function priced(account: string, credits: number, fields: object = {}) {
  const id = crypto.randomUUID();
  return { id, model: "m", callback_url: CALLBACK_URL, account, credits, ...fields };
}

/** Registers a task with a price, and returns its id. */
export async function aCharged(account: string, credits: number, fields: object = {}) {
  const body = priced(account, credits, fields);
  await expecting(201, post("/v1/tasks", body));
  return body.id;
}

export async function balanceOf(account: string): Promise<number> {
  const response = await call(`/v1/accounts/${account}`);
  return z.looseObject({ balance: z.int() }).parse(await response.json()).balance;
}

/**
 * Reads all ledger entries of an account, newest first. Goes through `app` so that a receiver can call it:
 * receivers run inside the object that sends the callback.
 */
export async function entriesOf(account: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? "" : `&cursor=${cursor}`;
    const path = `/v1/accounts/${account}/entries?limit=200${query}`;
    const page = Page.parse(await (await answerTo(aRequest(path), env)).json());
    entries.push(...page.data);
    if (page.next_cursor === cursor && cursor !== null)
      throw new Error("a page repeats its own cursor");
    cursor = page.next_cursor;
  } while (cursor !== null);
  return entries;
}

/** Lists kind and amount of each ledger entry, oldest first. */
export async function booksOf(account: string): Promise<readonly string[]> {
  const entries = await entriesOf(account);
  return entries.map(({ kind, amount }) => `${kind} ${amount}`).toReversed();
}

/** Returns the object that books the money of an account. */
export function accountStub(account: string) {
  return ledgerObject(env, account);
}

/** Returns the object with the profile and the API keys of an account. */
export function profileStub(account: string) {
  return profileObject(env, account);
}

/** Lists the names of the account objects that are called from now on. */
export function calledAccountObjects(): readonly string[] {
  const names: string[] = [];
  const getByName = env.ACCOUNTS.getByName.bind(env.ACCOUNTS);
  vi.spyOn(env.ACCOUNTS, "getByName").mockImplementation((name, ...more) => {
    names.push(name);
    return getByName(name, ...more);
  });
  return names;
}

/** Makes the storage of an account's ledger fail until the returned function is called. */
export async function breakLedger(account: string): Promise<() => void> {
  return runInDurableObject(accountStub(account), (_, { storage }) => {
    const broken = vi.spyOn(storage.kv, "get").mockImplementation(() => {
      throw new Error("storage failure");
    });
    return () => broken.mockRestore();
  });
}

/** Keeps the ledger of an account from answering until the returned function is called. */
export async function holdLedger(account: string): Promise<() => Promise<void>> {
  const hold = { begun: false, ended: false };
  const held = runInDurableObject(accountStub(account), (_, state) =>
    state.blockConcurrencyWhile(async () => {
      hold.begun = true;
      await until(() => hold.ended);
    }),
  );
  await until(() => hold.begun);
  return async () => {
    hold.ended = true;
    await held;
  };
}

/** Awaits a response and throws unless it has the expected status. */
async function expecting(status: number, answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  if (response.status === status) return response;
  throw new Error(`${response.status} ${await response.text()}`);
}

/** Lists the tables of an object, without the platform's own. */
export function tablesOf(sql: SqlStorage): readonly string[] {
  const query = "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'";
  return Array.from(sql.exec<{ name: string }>(query), ({ name }) => name);
}
