/**
 * The outcome of one attempt of a callback. `interrupted` means that the relay stopped before the answer
 * arrived.
 */
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
const DEAD_HOST_STATUSES: readonly number[] = [520, 521, 522, 523, 525, 526, 530];
const ORIGIN_TIMEOUT_STATUS = 524;
/** HTTP statuses under which Cloudflare returns errors of its own, with a code in the body. */
const CODED_STATUSES: readonly number[] = [403, 409, 530];
/**
 * Codes of Cloudflare for a host that no request can reach: wrong DNS records, IP addresses, tunnels and
 * Workers that are not there. Other codes, such as 1020, come from the receiver's own firewall
 * (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/).
 */
const DEAD_HOST_CODES: readonly number[] = [1000, 1001, 1002, 1003, 1004, 1016, 1033, 1042];

/** Finds the code of an answer that Cloudflare gave in place of the receiver; null when there is none. */
export function cloudflareErrorOf(status: number, body: string | null): number | null {
  if (!CODED_STATUSES.includes(status)) return null;
  const code = /\berror code: (1\d{3})\b/i.exec(body ?? "")?.[1];
  return code === undefined ? null : Number(code);
}

/**
 * Derives the outcome of an attempt from the HTTP status of the answer and, where Cloudflare answered in
 * place of the receiver, from its error code. The receiver's body has no influence. After every outcome but
 * `delivered` the next attempt follows, also after the statuses 410 and 429 (callback-attempt-plan.ts).
 * @param cloudflareError code that `cloudflareErrorOf` found in the answer; null for none.
 */
export function outcomeOfAnswer(status: number, cloudflareError: number | null): Outcome {
  if (status >= 200 && status < 300) return "delivered";
  if (status >= 300 && status < 400) return "redirected";
  if (status === ORIGIN_TIMEOUT_STATUS) return "timeout";
  const isDead = DEAD_HOST_CODES.some((code) => code === cloudflareError);
  return isDead || DEAD_HOST_STATUSES.includes(status) ? "unreachable" : "rejected";
}

/**
 * The reason why a receiver was unreachable; `no_listener` means that no program of the account was connected
 * to receive callbacks over a WebSocket, and `other` that the reason is not known.
 */
export type UnreachableCause = (typeof CAUSES)[number];

export const CAUSES = ["refused", "tls", "dns", "no_listener", "other"] as const;

/** Parts of an attempt that show why its receiver was unreachable. */
interface Answered {
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly cloudflareError: number | null;
  /**
   * Cause that applies when the callback was addressed to a listener (a program that receives callbacks over a
   * WebSocket and passes them on); null when the receiver was called over HTTP.
   */
  readonly cause: UnreachableCause | null;
}

/**
 * Returns the cause of the outcome `unreachable`: the stored one when the callback was addressed to a listener
 * (a program that receives callbacks over a WebSocket), else what follows from Cloudflare's answer. Null for
 * other outcomes.
 */
export function causeOf({
  outcome,
  statusCode,
  cloudflareError,
  cause,
}: Answered): UnreachableCause | null {
  if (outcome !== "unreachable") return null;
  if (cause !== null) return cause;
  if (statusCode === 521) return "refused";
  if (statusCode === 525 || statusCode === 526) return "tls";
  return statusCode === 530 && cloudflareError === 1016 ? "dns" : "other";
}
