import { configOf } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { originOf } from "./host.ts";

/**
 * Returns the origin of the relay, with which links in an answer begin. When `PUBLIC_URL` is not set and the `Host`
 * header is not a valid host, returns "", which makes the links relative.
 */
export function linkOrigin(env: Env, request: Request): string {
  return configOf(env)?.publicUrl ?? originOf(request) ?? "";
}
