import * as z from "zod";
import type { Client } from "../harness/client.ts";
import type { Caller } from "./caller.ts";
import { ACCOUNTS } from "./plan.ts";
import type { RecordedTask } from "./task-history.ts";

export type Entry = z.infer<typeof Entry>;
const Entry = z.object({
  kind: z.string(),
  amount: z.int(),
  balance: z.int(),
  reference: z.string(),
  task_id: z.string().optional(),
});
const Account = z.object({ balance: z.int() });

export interface Ledger {
  readonly accountId: string;
  readonly balance: number;
  /** Entries of the ledger, oldest first. */
  readonly entries: readonly Entry[];
}

export async function openAccounts(caller: Caller): Promise<void> {
  for (const { id, grant } of ACCOUNTS) {
    await caller.ask({ method: "POST", path: "/v1/accounts", body: { id } }, [201], [200]);
    const body = { reference: "opening", amount: grant };
    const path = `/v1/accounts/${id}/grants`;
    await caller.ask({ method: "POST", path, body }, [201], [200]);
  }
}

export async function readLedger(client: Client, accountId: string): Promise<Ledger> {
  const path = `/v1/accounts/${accountId}`;
  const { balance } = Account.parse((await client.ask("GET", path)).json);
  const entries = await client.list(`${path}/entries`, Entry);
  return { accountId, balance, entries: entries.toReversed() };
}

/** Finds entries of an account that contradict each other, its balance or what was requested. */
export function ledgerFaults(
  { accountId, balance, entries }: Ledger,
  histories: readonly RecordedTask[],
): string[] {
  const faults: string[] = [];
  const booked = new Set<string>();
  const ids = new Set(histories.map(({ id }) => id));
  let sum = 0;
  for (const entry of entries) {
    const { kind, reference, amount, task_id } = entry;
    sum += kind === "charge" ? -amount : amount;
    const isTwice = booked.has(`${kind} ${reference}`);
    const isUnknown = kind !== "grant" && (task_id === undefined || !ids.has(task_id));
    const isWrong = sum !== entry.balance || sum < 0 || isTwice || isUnknown;
    if (isWrong) faults.push(`${accountId}: booked ${JSON.stringify(entry)}`);
    booked.add(`${kind} ${reference}`);
  }
  if (sum !== balance) faults.push(`${accountId}: ${sum} booked, ${balance} shown`);
  const grants = entries.filter(({ kind }) => kind === "grant");
  const granted = grants.map(({ reference, amount }) => `${reference} ${amount}`).toSorted();
  const requested = grantsOf(accountId, histories).toSorted();
  if (granted.join() !== requested.join()) faults.push(`${accountId}: other grants`);
  return faults;
}

function grantsOf(accountId: string, histories: readonly RecordedTask[]): string[] {
  const opening = ACCOUNTS.find(({ id }) => id === accountId)?.grant ?? 0;
  const own = histories.filter(({ plan }) => plan.accountId === accountId && plan.grant > 0);
  return [`opening ${opening}`, ...own.map(({ plan }) => `${plan.path} ${plan.grant}`)];
}
