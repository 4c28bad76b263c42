import { originOf } from "../../api/http/host.ts";

/** First segments of the paths of the console (src/console). */
const CONSOLE_SEGMENTS: ReadonlySet<string> = new Set([
  "accounts",
  "assets",
  "brand",
  "docs",
  "endpoints",
  "hosts",
  "login",
  "logout",
  "offers",
  "providers",
  "redeliveries",
  "sandbox",
  "search",
  "submit",
  "tasks",
  "test",
]);

/**
 * First segments of the API's paths. `isForBrowser` returns false for these paths, even when a browser asks for a page.
 */
const API_SEGMENTS: ReadonlySet<string> = new Set([
  ".well-known",
  "healthz",
  "hooks",
  "metrics",
  "openapi.json",
  "outputs",
  "v1",
]);

/** Path of a status link. */
const STATUS_PATH = /^\/v1\/tasks\/[^/]+$/;

/**
 * Tells whether a request opens a status link (`/v1/tasks/{id}?token=…`) as a page in a browser: it is a `GET` that
 * accepts `text/html`.
 */
export function isStatusPage({ method, url, headers }: Request): boolean {
  if (method !== "GET" || !(headers.get("Accept") ?? "").includes("text/html")) return false;
  const asked = URL.parse(url);
  return asked !== null && asked.searchParams.has("token") && STATUS_PATH.test(asked.pathname);
}

/**
 * Tells whether the console answers a request that matches no route of the API: because its path is one of the console,
 * or because it accepts `text/html` and its path is not one of the API.
 */
export function isForBrowser(request: Request): boolean {
  // With a `Host` header that is not a host, the path in the URL is not the one that was asked for.
  if (originOf(request) === null) return false;
  const { url, headers } = request;
  const path = URL.parse(url)?.pathname;
  const segment = path?.split("/")[1];
  if (segment === undefined || API_SEGMENTS.has(segment)) return false;
  return (
    path === "/" ||
    CONSOLE_SEGMENTS.has(segment) ||
    (headers.get("Accept") ?? "").includes("text/html")
  );
}
