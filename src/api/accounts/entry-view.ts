import * as z from "zod/mini";
import { toSeconds } from "../../core/time.ts";
import type { Reader } from "../../core/views/reader.ts";
import type { StoredEntry } from "../../objects/account/entry-table.ts";
import { wholeNumber } from "../http/query.ts";

const MAX_CURSOR = Number.MAX_SAFE_INTEGER;

/**
 * Schema of the cursor of a page of the ledger: the number of the last entry on the previous page. Without a cursor,
 * the first page, with the newest entry, is returned.
 */
export const EntryCursor = z._default(wholeNumber(1, MAX_CURSOR, "is not a cursor"), MAX_CURSOR);

/**
 * Returns a ledger entry as the API shows it. Only operators see the name of the key with which the entry was ordered.
 */
export function entryView(entry: StoredEntry, reader: Reader) {
  const { kind, reference, amount, balance, taskId, reason, bookedBy, createdAt } = entry;
  return {
    kind,
    amount,
    balance,
    reference,
    ...(taskId !== null && { task_id: taskId }),
    ...(reason !== null && { reason }),
    created_at: toSeconds(createdAt),
    ...(reader === "operator" && bookedBy !== null && { booked_by: bookedBy }),
  };
}
