/**
 * The outcome of one attempt of a callback. `interrupted` means that the relay stopped, e.g. by a crash, before the
 * answer arrived.
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

/** Numbers of ended attempts, by outcome, in the order of `OUTCOMES`. Outcomes with the number 0 are left out. */
export type OutcomeCounts = Readonly<Partial<Record<Outcome, number>>>;

/**
 * HTTP statuses with which Cloudflare answers in place of a host that it could not reach
 * (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/).
 */
const DEAD_HOST_STATUSES: readonly number[] = [520, 521, 522, 523, 525, 526, 530];
const ORIGIN_TIMEOUT_STATUS = 524;
/**
 * HTTP statuses that Cloudflare uses for its own errors. The body of such an answer contains Cloudflare's error code.
 */
const CODED_STATUSES: readonly number[] = [403, 409, 530];
/**
 * Cloudflare's error codes for a host that no request can reach, because of wrong DNS records or IP addresses, or
 * because a tunnel or a Worker does not exist. Other codes, e.g. 1020, come from the firewall of the receiver itself
 * (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/).
 */
const DEAD_HOST_CODES: readonly number[] = [1000, 1001, 1002, 1003, 1004, 1016, 1033, 1042];

/** Cloudflare's error codes for a name without an address, from the same list. */
const NAMELESS_CODES: readonly number[] = [1001, 1016];
/** Cloudflare's error codes for an IP address that must not be called, or a name that leads to one. */
const FORBIDDEN_CODES: readonly number[] = [1000, 1002, 1003];

/**
 * Returns Cloudflare's error code (e.g. 1003) from an answer that came from Cloudflare instead of the receiver. Null
 * when the answer has no such code.
 */
export function cloudflareErrorOf(status: number, body: string | null): number | null {
  if (!CODED_STATUSES.includes(status)) return null;
  const code = /\berror code: (1\d{3})\b/i.exec(body ?? "")?.[1];
  return code === undefined ? null : Number(code);
}

/**
 * Returns the outcome of an attempt that was answered. It follows from the HTTP status and, if Cloudflare answered
 * instead of the receiver, from Cloudflare's error code; the body of the receiver's own answer has no influence. Every
 * outcome except `delivered` is followed by the next planned attempt, also after the statuses 410 and 429
 * (callback-attempt-plan.ts).
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
 * The reason why a receiver was unreachable. `dns` means that its name leads to no address that may be called,
 * `forbidden` that the URL has an address that must not be called. `no_listener` means that no program of the account was connected to
 * receive callbacks over a WebSocket. `other` means that the reason is not known.
 */
export type UnreachableCause = (typeof CAUSES)[number];

export const CAUSES = ["refused", "tls", "dns", "forbidden", "no_listener", "other"] as const;

/** The parts of an attempt from which `causeOf` derives why the receiver was unreachable. */
interface Answered {
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly cloudflareError: number | null;
  /**
   * Reason why a listener was unreachable. A listener is a program that receives callbacks over a WebSocket and passes
   * them on. Null when the callback was sent over HTTP.
   */
  readonly cause: UnreachableCause | null;
}

/**
 * Returns why the receiver of an attempt was unreachable. For a listener (a program that receives callbacks over a
 * WebSocket) it is the stored cause; for a receiver over HTTP it follows from the HTTP status and Cloudflare's error
 * code, with which ops/new-connections.js answers too on plain workerd. An error that `fetch` has thrown states no
 * reason. Null when the outcome is not `unreachable`.
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
  if (cloudflareError === null) return "other";
  if (NAMELESS_CODES.includes(cloudflareError)) return "dns";
  return FORBIDDEN_CODES.includes(cloudflareError) ? "forbidden" : "other";
}
