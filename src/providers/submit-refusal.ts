import type { RefusalClass } from "../core/record/refusal.ts";
import { numberAt } from "./json-fields.ts";

/** HTTP statuses from 400 to 499 that do not prove that no job was started. */
const DOUBTFUL_STATUSES = [408, 409, 425, 499];

/**
 * Returns the class of a refused submission as its HTTP status states it, which means the same for every upstream that does
 * not document another meaning: 401 for the key, 402 for the balance, 429 for the rate. Null for a status that does not
 * prove that the call has started no job.
 */
export function refusalOfStatus(status: number): RefusalClass | null {
  if (status < 400 || status > 499 || DOUBTFUL_STATUSES.includes(status)) return null;
  switch (status) {
    case 401:
      return "key";
    case 402:
      return "funds";
    case 429:
      return "rate";
    default:
      return "final";
  }
}

/**
 * Returns the class of a refused submission as the member `code` of the body states it, as an HTTP status of the same number
 * does. It is for upstreams whose errors have the HTTP status 200.
 */
export function refusalByCode(status: number, body: unknown): RefusalClass | null {
  return refusalOfStatus(numberAt(body, "code") ?? 0) ?? refusalOfStatus(status);
}
