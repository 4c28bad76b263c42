import { toSeconds } from "../../core/time.ts";
import type { StoredEntry } from "../../account/entry-table.ts";
import { invalidRequest } from "../http/problem.ts";

const MAX_CURSOR = Number.MAX_SAFE_INTEGER;

/** Returns a ledger entry in the form in which the API shows it. */
export function entryView(entry: StoredEntry) {
  const { kind, reference, amount, balance, taskId, reason, createdAt } = entry;
  return {
    kind,
    amount,
    balance,
    reference,
    ...(taskId !== null && { task_id: taskId }),
    ...(reason !== null && { reason }),
    created_at: toSeconds(createdAt),
  };
}

/**
 * Reads the cursor of a page of the ledger: the number of the last entry of the previous page. Null means the
 * first page, which begins with the newest entry.
 * @throws Problem `invalid_request` for any other text.
 */
export function sequenceOf(cursor: string | null): number {
  if (cursor === null) return MAX_CURSOR;
  const sequence = Number(cursor);
  if (/^\d{1,16}$/.test(cursor) && sequence >= 1 && sequence <= MAX_CURSOR) return sequence;
  throw invalidRequest([{ path: "/cursor", message: "is not a cursor" }]);
}
