import type { ProtectedRoute } from "../api/http/route.ts";
import { requireIdempotencyKey } from "../api/tasks/idempotency-key.ts";
import type { FormVisit } from "./page.ts";

/**
 * Passes a change for which somebody sends a form of the console, e.g. to cancel a task, to a route of the
 * API. The route checks, books and logs it like a request with the key of this viewer, and counts it unless its
 * rate limit has counted the form.
 * @throws Problem when the route refuses it.
 */
export function order(
  { viewer, env, url: page, counted }: FormVisit<unknown>,
  { method, handleFrom }: Pick<ProtectedRoute, "method" | "handleFrom">,
  params: Readonly<Record<string, string>>,
  body?: object,
  idempotencyKey: string | null = null,
): Promise<Response> {
  const url = new URL("/v1", page);
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers =
    idempotencyKey === null ? {} : { "Idempotency-Key": requireIdempotencyKey(idempotencyKey) };
  const request = new Request(url, { method, headers, ...sent });
  return handleFrom(viewer, { request, env, url, params }, counted);
}

/** Redirects the browser to a page, e.g. to the one that shows what a form has changed. */
export function seeOther(path: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 303, headers: { Location: path, ...headers } });
}
