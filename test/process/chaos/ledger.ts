import * as z from "zod";
import type { Client } from "../harness/client.ts";
import { Caller } from "./caller.ts";

export type Entry = z.infer<typeof Entry>;
const Entry = z.object({
  kind: z.string(),
  amount: z.int(),
  balance: z.int(),
  reference: z.string(),
  task_id: z.string().optional(),
  /** Time of the entry, in Unix seconds. */
  created_at: z.int(),
});
const Account = z.object({ balance: z.int() });
const AccountKey = z.object({ key: z.string() });

export interface Ledger {
  readonly accountId: string;
  readonly balance: number;
  /** Entries of the ledger, oldest first. */
  readonly entries: readonly Entry[];
}

/** Creates an account, and grants it credits under the reference `opening`. */
export async function openAccount(caller: Caller, id: string, amount: number): Promise<void> {
  await caller.ask({ method: "POST", path: "/v1/accounts", body: { id } }, [201], [200]);
  const body = { reference: "opening", amount };
  const path = `/v1/accounts/${id}/grants`;
  await caller.ask({ method: "POST", path, body }, [201], [200]);
}

/** Creates an account as `openAccount` does. @returns an API key of the account. */
export async function openWithKey(client: Client, id: string, amount: number): Promise<string> {
  await openAccount(new Caller(client), id, amount);
  return AccountKey.parse((await client.ask("POST", `/v1/accounts/${id}/keys`, {})).json).key;
}

export async function readLedger(client: Client, accountId: string): Promise<Ledger> {
  const path = `/v1/accounts/${accountId}`;
  const { balance } = Account.parse((await client.ask("GET", path)).json);
  const entries = await client.list(`${path}/entries`, Entry);
  return { accountId, balance, entries: entries.toReversed() };
}

/** Counts the entries of a kind. */
export function countOf(entries: readonly Entry[], kind: string): number {
  return entries.filter((entry) => entry.kind === kind).length;
}

/**
 * Finds entries of an account that contradict each other or its balance, that overdraw it, that are booked twice, or that
 * nobody has ordered.
 */
export function ledgerFaults(
  { accountId, balance, entries }: Ledger,
  isOrdered: (entry: Entry) => boolean,
): readonly string[] {
  const faults: string[] = [];
  const booked = new Set<string>();
  let sum = 0;
  for (const entry of entries) {
    const name = `${entry.kind} ${entry.reference}`;
    sum += entry.kind === "charge" ? -entry.amount : entry.amount;
    const isWrong = sum !== entry.balance || sum < 0 || booked.has(name) || !isOrdered(entry);
    if (isWrong) faults.push(`${accountId}: booked ${JSON.stringify(entry)}`);
    booked.add(name);
  }
  if (sum !== balance) faults.push(`${accountId}: ${sum} booked, ${balance} shown`);
  return faults;
}
