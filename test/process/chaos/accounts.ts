import * as z from "zod";
import type { Caller } from "./caller.ts";
import { TENANTS } from "./plan.ts";
import type { Story } from "./task-history.ts";

const PAGE = 200;

export type Entry = z.infer<typeof Entry>;
const Entry = z.object({
  kind: z.string(),
  amount: z.int(),
  balance: z.int(),
  reference: z.string(),
  task_id: z.string().optional(),
});
const Account = z.object({ balance: z.int() });
const Page = z.object({ data: z.array(Entry), next_cursor: z.string().nullable() });

export interface Books {
  readonly accountId: string;
  readonly balance: number;
  /** Oldest first. */
  readonly entries: readonly Entry[];
}

export async function openAccounts(caller: Caller): Promise<void> {
  for (const { id, grant } of TENANTS) {
    await caller.insist({ method: "POST", path: "/v1/accounts", body: { id } }, [201], [200]);
    const body = { reference: "opening", amount: grant };
    const path = `/v1/accounts/${id}/grants`;
    await caller.insist({ method: "POST", path, body }, [201], [200]);
  }
}

export async function booksOf(caller: Caller, accountId: string): Promise<Books> {
  const path = `/v1/accounts/${accountId}`;
  const account = await caller.insist({ method: "GET", path }, [200]);
  const entries: Entry[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query = `limit=${PAGE}${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const answer = await caller.insist({ method: "GET", path: `${path}/entries?${query}` }, [200]);
    const page: z.infer<typeof Page> = Page.parse(answer.json);
    entries.push(...page.data);
    cursor = page.next_cursor;
  }
  const { balance } = Account.parse(account.json);
  return { accountId, balance, entries: entries.toReversed() };
}

/** Where the entries of an account contradict one another, its balance, or what was ordered. */
export function faultsOfBooks(
  { accountId, balance, entries }: Books,
  stories: readonly Story[],
): string[] {
  const faults: string[] = [];
  const booked = new Set<string>();
  const ids = new Set(stories.map(({ id }) => id));
  let sum = 0;
  for (const entry of entries) {
    const { kind, reference, amount, task_id } = entry;
    sum += kind === "charge" ? -amount : amount;
    const isTwice = booked.has(`${kind} ${reference}`);
    const isStranger = kind !== "grant" && (task_id === undefined || !ids.has(task_id));
    const isWrong = sum !== entry.balance || sum < 0 || isTwice || isStranger;
    if (isWrong) faults.push(`${accountId}: booked ${JSON.stringify(entry)}`);
    booked.add(`${kind} ${reference}`);
  }
  if (sum !== balance) faults.push(`${accountId}: ${sum} booked, ${balance} shown`);
  const granted = entries.filter(({ kind }) => kind === "grant");
  const given = granted.map(({ reference, amount }) => `${reference} ${amount}`).toSorted();
  const ordered = grantsOf(accountId, stories).toSorted();
  if (JSON.stringify(given) !== JSON.stringify(ordered)) faults.push(`${accountId}: other grants`);
  return faults;
}

function grantsOf(accountId: string, stories: readonly Story[]): string[] {
  const opening = TENANTS.find(({ id }) => id === accountId)?.grant ?? 0;
  const own = stories.filter(({ plan }) => plan.accountId === accountId && plan.grant > 0);
  return [`opening ${opening}`, ...own.map(({ plan }) => `${plan.path} ${plan.grant}`)];
}
