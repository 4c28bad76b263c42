import { problemFrom } from "../api/http/internal-error.ts";
import { Problem, problemResponse } from "../api/http/problem.ts";
import { PROBLEMS } from "../api/http/problem-list.ts";
import type { ProtectedRoute } from "../api/http/route.ts";
import { requireIdempotencyKey } from "../api/operation.ts";
import { configOf } from "../config/runtime.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import type { Caller } from "../task-object/caller.ts";
import type { Refused } from "./relay-service.ts";

/** Arguments of a call through a service binding, by the place where the route reads them. */
interface Arguments {
  /** Id of the task in the path of the route; of any type from a Worker without types. */
  readonly id?: unknown;
  /** Parameters of the query; one that is undefined is not sent. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Value of the JSON body. */
  readonly body?: unknown;
  readonly idempotencyKey?: string | undefined;
}

/** Answer of a route, or the problem with which it refused the call. */
export type Outcome = { readonly ok: true; readonly response: Response } | Refused;

/**
 * Caller as which the routes treat another Worker of the same Cloudflare account: an operator with all
 * permissions, because that Worker could also change the relay itself.
 */
const CALLER: Caller = { kind: "operator", role: "all", key: "binding" };

/**
 * Origin that is used in place of the relay's own for a call through a service binding while `PUBLIC_URL` is
 * not set. No host has this name (RFC 2606 §2).
 */
export const NO_ORIGIN = "https://relay.invalid";

/**
 * Runs a route for another Worker of the account, in the isolate of the call and without HTTP. The request
 * only carries the arguments, so that the route checks them in the same way as those of a client.
 */
export async function runRoute(route: ProtectedRoute, args: Arguments, env: Env): Promise<Outcome> {
  try {
    const request = requestOf(args, publicUrlOf(env, args.body) ?? NO_ORIGIN);
    const params: Readonly<Record<string, string>> = "id" in args ? { id: String(args.id) } : {};
    const url = new URL(request.url);
    return { ok: true, response: await route.handleFrom(CALLER, { request, env, url, params }) };
  } catch (error) {
    const problem = problemFrom(error);
    const { status } = PROBLEMS[problem.code];
    const { method, path } = route;
    const line = { event: "request.refused", via: "binding", method, path, status };
    log({ ...line, code: problem.code }, status >= 500 ? "warn" : "info");
    return { ok: false, problem: await problemResponse(problem, "").json() };
  }
}

/**
 * Builds the HTTP request in which the route reads the arguments of the call. It is never sent; its path is
 * always `/`.
 */
function requestOf({ query = {}, body, idempotencyKey }: Arguments, origin: string): Request {
  const url = new URL("/", origin);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const headers =
    idempotencyKey === undefined
      ? {}
      : { "Idempotency-Key": requireIdempotencyKey(idempotencyKey) };
  return new Request(url, { method: "POST", headers, body: bodyText(body) });
}

/**
 * Writes the argument of a method as the JSON text that a client would send.
 * @throws Problem `invalid_json` for a value that JSON does not have, e.g. a BigInt or a cycle.
 */
function bodyText(body: unknown): string {
  try {
    return JSON.stringify(body) ?? "";
  } catch {
    const issues = [{ path: "", message: "must be a value that JSON has" }];
    throw new Problem("invalid_json", { detail: "The argument is not a JSON value.", issues });
  }
}

/**
 * Returns `PUBLIC_URL`; null when it is not set or the configuration is not valid.
 * @throws Problem `not_configured` when it is not set but the call names a provider, because a call through a
 * binding has no origin from which the relay could make the hook URL.
 */
function publicUrlOf(env: Env, body: unknown): string | null {
  const config = configOf(env);
  if (!config.ok) return null;
  const { publicUrl } = config.value;
  if (publicUrl !== null || !namesProvider(body)) return publicUrl;
  const detail = "PUBLIC_URL is required for a provider in a call through a service binding.";
  throw new Problem("not_configured", { detail });
}

function namesProvider(body: unknown): boolean {
  const provider = typeof body === "object" && body !== null && Reflect.get(body, "provider");
  return typeof provider === "string";
}
