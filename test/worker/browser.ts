import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { callWith, OPERATOR_KEY } from "./client.ts";

type Headers = Readonly<Record<string, string>>;

export const HTML = { Accept: "text/html,*/*;q=0.8" };

const FORM = {
  ...HTML,
  "Content-Type": "application/x-www-form-urlencoded",
  "Sec-Fetch-Site": "same-origin",
};

/** Requests a page as a browser with this cookie does; null sends no cookie. */
export function visit(
  path: string,
  cookie: string | null = null,
  headers: Headers = {},
  bindings: object = env,
): Promise<Response> {
  const sent = cookie === null ? headers : { Cookie: cookie, ...headers };
  return callWith(bindings, path, { key: null, headers: { ...HTML, ...sent } });
}

/** Sends a form as a page of the console does in a browser with this cookie; null sends none. */
export function submit(
  path: string,
  fields: Headers,
  cookie: string | null = null,
  headers: Headers = {},
  bindings: object = env,
): Promise<Response> {
  const sent = cookie === null ? headers : { Cookie: cookie, ...headers };
  const body = new URLSearchParams(fields).toString();
  return callWith(bindings, path, { key: null, body, headers: { ...FORM, ...sent } });
}

/** Returns the cookie that an answer sets, as a browser sends it back. */
export function cookieIn({ headers }: Response): string {
  return (headers.get("Set-Cookie") ?? "").split(";")[0] ?? "";
}

/** Logs in with a key, and returns the session cookie. */
export async function logIn(key = OPERATOR_KEY, bindings: object = env): Promise<string> {
  const response = await submit("/login", { key }, null, {}, bindings);
  expect(response.status).toBe(303);
  return cookieIn(response);
}

/** Returns the status of an answer and the address to which it redirects. */
export function outcome({ status, headers }: Response) {
  return [status, headers.get("Location")];
}
