import type { RateLimitName } from "../../config/rate-limits.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { errorText } from "../../lib/log.ts";
import { logOnceAMinute } from "../../lib/log-once.ts";
import { clientNetwork } from "../../security/ip-address.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { withinTime } from "../../lib/timeout.ts";
import { Problem } from "./problem.ts";

/** The rate limits that a route can name. They count the requests of each account. */
export type AccountLimit = Exclude<RateLimitName, "LIMIT_LINKS" | "LIMIT_REFUSALS">;

/**
 * Seconds after which a refused request may be repeated. This is the whole `period` of the bindings in wrangler.toml,
 * because a binding does not tell when its present period ends.
 */
const RETRY_AFTER_S = 60;

/**
 * Longest time in milliseconds that a request waits for the decision of a rate limit. Normally it comes at once,
 * because rate limits count in the memory of the same location.
 */
const TIMEOUT_MS = SECOND_MS / 2;

/** Name under which all requests whose sender's address is unknown are counted together. */
const NO_ADDRESS = "unknown";

/**
 * Counts a request of an account. The requests of operators, and those of senders that sign events, are not counted.
 * @throws Problem `rate_limited` when the account has reached the limit.
 */
export async function countRequest(limit: AccountLimit, caller: Caller, env: Env): Promise<void> {
  const account = accountOf(caller);
  if (account === null || (await isPermitted(limit, account, account, env))) return;
  throw rateLimited(`The account has sent too many requests of this kind (${limit}).`);
}

/**
 * Counts a logout of an account, and tells whether `LIMIT_LISTS` still permits it. Logouts have a count of their own,
 * because otherwise somebody with a copied session cookie could use up the limit, so that the owner of the session
 * could not log out.
 */
export function isLogoutPermitted(account: string, env: Env): Promise<boolean> {
  // An account id contains no slash.
  return isPermitted("LIMIT_LISTS", account, `${account}/logout`, env);
}

/**
 * Counts a request of an account, and tells whether the rate limit still permits it. A request that is not permitted is
 * logged.
 * @param key name under which the rate limit counts the request.
 */
async function isPermitted(
  limit: AccountLimit,
  account: string,
  key: string,
  env: Env,
): Promise<boolean> {
  if (await isWithin(limit, key, env)) return true;
  logOnceAMinute(`${limit} ${account}`, { event: "limit.reached", limit, account });
  return false;
}

/**
 * Counts a failed credential for the IP address of its sender. An API key without a valid MAC (the proof that the relay
 * has made the key) is counted before it is looked up in a Durable Object, so that guesses beyond the limit are refused
 * without a call to an object. When the limit is reached, the log names the address, at most once a minute.
 * @throws Problem `rate_limited` when too many credentials from this address have failed.
 */
export async function countFailedCredential(headers: Headers, env: Env): Promise<void> {
  const limit = "LIMIT_REFUSALS";
  const address = clientNetwork(headers.get("CF-Connecting-IP") ?? "") ?? NO_ADDRESS;
  if (await isWithin(limit, address, env)) return;
  measureRefusal(env.METRICS, "limited");
  logOnceAMinute(`${limit} ${address}`, { event: "limit.reached", limit, address });
  throw rateLimited(`Too many wrong credentials came from this address (${limit}).`);
}

/**
 * Counts a request with a valid status token, for the token's task and the IP address of the sender together.
 * @throws Problem `rate_limited` when too many requests with this task's link came from this address.
 */
export async function countLinkRequest(id: string, headers: Headers, env: Env): Promise<void> {
  await countLink(id, "this status link", id, headers, env);
}

/**
 * Counts a request with a valid link to an output, for the output's task and the IP address of the sender together. All
 * outputs of a task share one count. Requests with the task's status link have another, so that a player, which
 * requests a video part by part, does not use it up.
 * @throws Problem `rate_limited` when too many requests for outputs of this task came from this address.
 */
export async function countOutputRequest(id: string, headers: Headers, env: Env): Promise<void> {
  await countLink(id, "links to outputs of this task", `${id}/outputs`, headers, env);
}

/**
 * Counts a request with a status link or a link to an output, for the IP address of its sender.
 * @param key name under which the requests of one address are counted together.
 * @throws Problem `rate_limited` when too many requests with the link came from the address.
 */
async function countLink(
  id: string,
  what: string,
  key: string,
  headers: Headers,
  env: Env,
): Promise<void> {
  const limit = "LIMIT_LINKS";
  const address = clientNetwork(headers.get("CF-Connecting-IP") ?? "") ?? NO_ADDRESS;
  if (await isWithin(limit, `${key} ${address}`, env)) return;
  logOnceAMinute(`${limit} ${key} ${address}`, { event: "limit.reached", limit, task_id: id });
  throw rateLimited(`Too many requests with ${what} came from this address (${limit}).`);
}

/**
 * Counts one request under a key, e.g. the id of an account or an IP address, and tells whether the rate limit still
 * permits it. Every request is permitted when the binding of the rate limit is missing, fails or does not respond in
 * time.
 */
async function isWithin(limit: RateLimitName, key: string, env: Env): Promise<boolean> {
  const binding = env[limit];
  if (binding === undefined) return true;
  try {
    const { success } = await withinTime(() => binding.limit({ key }), PERMITTED, TIMEOUT_MS);
    return success;
  } catch (error) {
    const line = { event: "call.unanswered", what: limit, error: errorText(error) };
    logOnceAMinute(limit, line, "warn");
    return true;
  }
}

const PERMITTED: RateLimitOutcome = { success: true };

/**
 * Seconds after which a client is asked to repeat a request that was refused because too many requests of the same kind
 * were under way.
 */
const RETRY_AFTER_OTHERS_S = 2;

/**
 * Returns the problem for a request that is refused because as many similar requests as permitted are under way, e.g.
 * of the same account or for the same output.
 */
export function tooManyAtOnce(detail: string): Problem {
  const headers = { "Retry-After": String(RETRY_AFTER_OTHERS_S) };
  return new Problem("rate_limited", { detail: `${detail} Try again.`, headers });
}

function rateLimited(detail: string): Problem {
  return new Problem("rate_limited", {
    detail: `${detail} Try again later.`,
    headers: { "Retry-After": String(RETRY_AFTER_S) },
  });
}
