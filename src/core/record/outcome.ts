/** The outcome of one attempt of a callback. `interrupted` means that the relay stopped before it knew. */
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
 * HTTP statuses that Cloudflare returns for a host that it could not reach
 * (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/).
 */
const DEAD_HOST_STATUSES: readonly number[] = [521, 522, 523, 525, 526, 530];
const ORIGIN_TIMEOUT_STATUS = 524;

/** Derives the outcome of an attempt from the status of the receiver's answer; its body does not count. */
export function outcomeOfStatus(status: number): Outcome {
  if (status >= 200 && status < 300) return "delivered";
  if (status >= 300 && status < 400) return "redirected";
  if (status === ORIGIN_TIMEOUT_STATUS) return "timeout";
  return DEAD_HOST_STATUSES.includes(status) ? "unreachable" : "rejected";
}
