import { originOf } from "../../api/http/host.ts";
import { Problem } from "../../api/http/problem.ts";
import { configOf } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";

/**
 * Checks that a page of this console sent a form (a protection against CSRF). The header `Sec-Fetch-Site` shows it.
 * Where a browser does not send this header, e.g. to http:// addresses, the header `Origin` is used.
 * @throws Problem `forbidden` when another site sent the form.
 */
export function requireOwnForm(request: Request, env: Env): void {
  const site = request.headers.get("Sec-Fetch-Site");
  const origin = request.headers.get("Origin");
  if (site === null ? isOwn(origin, request, env) : site === "same-origin") return;
  const detail = "The form does not come from a page of this console. Nothing has been changed.";
  throw new Problem("forbidden", { detail });
}

function isOwn(origin: string | null, request: Request, env: Env): boolean {
  if (origin === null) return false;
  return origin === originOf(request) || origin === configOf(env)?.publicUrl;
}
