import type { RefusalClass } from "../core/record/refusal.ts";
import { numberAt } from "./json-fields.ts";

/** HTTP statuses from 400 to 499 which do not prove that the upstream has started no job. */
const DOUBTFUL_STATUSES = [408, 409, 425, 499];

/**
 * Returns the class of a refused submission by its HTTP status, for upstreams that document no other meaning: 401 for
 * the key, 402 for the balance, 429 for the rate. Null for a status which does not prove that the call has started no
 * job.
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
 * Returns the class of a refused submission by the member `code` of the body, which is read like an HTTP status. It is
 * for upstreams whose errors have the HTTP status 200.
 */
export function refusalByCode(status: number, body: unknown): RefusalClass | null {
  return refusalOfStatus(numberAt(body, "code") ?? 0) ?? refusalOfStatus(status);
}
