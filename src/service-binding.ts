import { NO_ORIGIN } from "./api/http/link-origin.ts";
import { answerRequest, type Entrance } from "./app.ts";
import { configOf } from "./config/runtime.ts";
import type { Env } from "./env.ts";

/**
 * The entrance for requests of other Workers of the same Cloudflare account, which come in over the service binding. A
 * request without a key is treated as one of an operator with all permissions: whoever deploys Workers into the account
 * could also change the relay itself.
 */
const BINDING: Entrance = {
  via: "binding",
  callerWithoutKey: { kind: "operator", role: "all", key: "binding" },
  serves: (path) => path.startsWith("/v1/"),
};

/**
 * Answers a request of another Worker. That Worker can choose any host for the URL, so the request gets the relay's own
 * origin instead; hook URLs and links begin with it.
 */
export async function answerBound(request: Request, env: Env): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  if (pathname === "/openapi.json" && env.ASSETS !== undefined) return env.ASSETS.fetch(request);
  const origin = configOf(env)?.publicUrl ?? NO_ORIGIN;
  return answerRequest(new Request(`${origin}${pathname}${search}`, request), env, BINDING);
}
