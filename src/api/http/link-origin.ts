import { configOf } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { originOf } from "./host.ts";

/**
 * Origin that the relay uses for itself in a request of another Worker (src/service-binding.ts) while `PUBLIC_URL` is
 * not set, because such a request names no host of the relay. No link begins with it, and no real host can have this
 * name (RFC 2606 §2).
 */
export const NO_ORIGIN = "https://relay.invalid";

/**
 * Returns the origin of the relay, with which links in a response begin.
 * @returns "", which makes the links relative, when `PUBLIC_URL` is not set and the request names no valid host.
 */
export function linkOrigin(env: Env, request: Request): string {
  const origin = configOf(env)?.publicUrl ?? originOf(request) ?? NO_ORIGIN;
  return origin === NO_ORIGIN ? "" : origin;
}
