/** How one HTTP try of a callback ended (DESIGN "Words"). */
export type Outcome = (typeof OUTCOMES)[number];

export const OUTCOMES = [
  "delivered",
  "rejected",
  "redirected",
  "timeout",
  "unreachable",
  "blocked",
  "interrupted",
] as const;

/**
 * Statuses with which Cloudflare answers for a host that it could not reach
 * (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/).
 */
const DEAD_HOST_STATUSES: readonly number[] = [521, 522, 523, 525, 526, 530];
const ORIGIN_TIMEOUT_STATUS = 524;

/** Outcome told by the receiver's status line; nothing after it matters. */
export function outcomeOfStatus(status: number): Outcome {
  if (status >= 200 && status < 300) return "delivered";
  if (status >= 300 && status < 400) return "redirected";
  if (status === ORIGIN_TIMEOUT_STATUS) return "timeout";
  return DEAD_HOST_STATUSES.includes(status) ? "unreachable" : "rejected";
}
