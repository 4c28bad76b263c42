import { configOf } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { originOf } from "./host.ts";

/**
 * Origin that stands for the relay in a request of another Worker (src/service-binding.ts) while `PUBLIC_URL` is not
 * set, because such a request names no host of the relay. No link begins with it. No real host can have this name (RFC
 * 2606 §2).
 */
export const NO_ORIGIN = "https://relay.invalid";

/**
 * Returns the origin of the relay, with which links in an answer begin. When `PUBLIC_URL` is not set and the request
 * names no valid host, returns "", which makes the links relative.
 */
export function linkOrigin(env: Env, request: Request): string {
  const origin = configOf(env)?.publicUrl ?? originOf(request) ?? NO_ORIGIN;
  return origin === NO_ORIGIN ? "" : origin;
}
