import { configOf } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { originOf } from "./host.ts";

/**
 * Origin that the relay uses for itself in a request of another Worker (src/service-binding.ts) while `PUBLIC_URL` is
 * not set, because such a request names no host of the relay. No link begins with it, and no real host can have this
 * name (RFC 2606 §2).
 */
export const NO_ORIGIN = "https://relay.invalid";

/** The origin to which a call was sent. */
export interface CalledOrigin {
  /** Origin (scheme and host) to which the caller sent the call. */
  readonly origin: string;
  /**
   * True when the origin is one of the relay itself, because Cloudflare has brought the request here over HTTPS. It
   * brings to a Worker only requests to the hosts that its owner has routed to it. False when the caller may have chosen
   * the origin by the `Host` header, and when the origin is `NO_ORIGIN`.
   */
  readonly isOriginProven: boolean;
}

/**
 * Returns the origin that a request addresses. Only Cloudflare says in `cf` which of its data centres has taken a
 * request: no header sets it, and plain workerd has no `cf`.
 */
export function calledOrigin({ cf }: Pick<Request, "cf">, { origin, protocol }: URL): CalledOrigin {
  const isFromCloudflare = protocol === "https:" && typeof cf?.colo === "string";
  return { origin, isOriginProven: isFromCloudflare && origin !== NO_ORIGIN };
}

/**
 * Returns the origin of the relay, with which links in a response begin.
 * @returns "", which makes the links relative, when `PUBLIC_URL` is not set and the request names no valid host.
 */
export function linkOrigin(env: Env, request: Request): string {
  const origin = configOf(env)?.publicUrl ?? originOf(request) ?? NO_ORIGIN;
  return origin === NO_ORIGIN ? "" : origin;
}
