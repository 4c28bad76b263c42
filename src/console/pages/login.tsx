import { holderOfKey } from "../../api/http/auth.ts";
import { requireRuntime } from "../../api/http/route.ts";
import type { Runtime } from "../../config/runtime.ts";
import { log } from "../../log.ts";
import { isLoopback } from "../../security/url-rules.ts";
import { accountOf } from "../../objects/task/caller.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { accessUserOf } from "../access.ts";
import { html, seeOther } from "../html-answer.ts";
import { requireOwnForm } from "../own-form.ts";
import { themeOf } from "../parts/layout.tsx";
import { type Page, publicPage, readForm } from "../page.ts";
import { Login } from "./login-form.tsx";
import { safeReturnTo } from "../return-to.ts";
import { endSession, sessionVisitorOf, startSession } from "../session.ts";

const WRONG_KEY = "This is neither an operator key nor the key of an account.";
const NOT_SECURE =
  "This address is not encrypted, so the key would be readable on its way. Use the https:// address of the relay.";

/**
 * The login: one field for an operator key or an account's key. Users of Cloudflare Access, who need none, find
 * here how to log out of it.
 */
export const loginPage = publicPage("/login", async ({ request, env, url }) => {
  const returnTo = safeReturnTo(url.searchParams.get("return_to") ?? "", url.origin);
  const runtime = requireRuntime(env);
  if ((await sessionVisitorOf(request, runtime, env)) !== null) return seeOther(returnTo);
  const user = await accessUserOf(request, runtime.config);
  const fault = isSafe(url, runtime) ? null : NOT_SECURE;
  const page = { theme: themeOf(request), returnTo, fault, accessUser: user?.key ?? null };
  return html(<Login {...page} />);
});

/** Exchanges a key for a session cookie. A wrong key is counted like a request to the API with a wrong key. */
export const logIn: Page = {
  method: "POST",
  path: "/login",
  access: "anyone",
  answer: async ({ request, env, url }) => {
    requireOwnForm(request, env);
    const runtime = requireRuntime(env);
    const form = await readForm(request, runtime);
    const returnTo = safeReturnTo(form.get("return_to") ?? "", url.origin);
    if (!isSafe(url, runtime)) return refusal(request, returnTo, NOT_SECURE, 403);
    const key = (form.get("key") ?? "").trim();
    const viewer = await holderOfKey(key, request.headers, runtime, env);
    if (viewer === null) {
      measureRefusal(env.METRICS);
      return refusal(request, returnTo, WRONG_KEY, 401);
    }
    log({ event: "console.login", by: viewer.key, account: accountOf(viewer) });
    const cookie = await startSession(request, viewer, key, runtime);
    return seeOther(returnTo, { "Set-Cookie": cookie });
  },
};

/**
 * Ends the session, also for a copy of its cookie. `Clear-Site-Data` does not name `cookies`: that would log
 * the user out of every site of the domain.
 */
export const logOut: Page = {
  method: "POST",
  path: "/logout",
  access: "anyone",
  answer: async ({ request, env }) => {
    requireOwnForm(request, env);
    return seeOther("/login", {
      "Set-Cookie": await endSession(request, requireRuntime(env), env),
      "Clear-Site-Data": '"cache"',
    });
  },
};

/**
 * Tells whether a key cannot be read by others on its way to this address. An http address counts as safe when
 * a proxy encrypts.
 */
function isSafe(url: URL, { config }: Runtime): boolean {
  const isProxied = config.publicUrl?.startsWith("https:") ?? false;
  return url.protocol === "https:" || isProxied || isLoopback(url);
}

function refusal(
  request: Request,
  returnTo: string,
  fault: string,
  status: number,
): Promise<Response> {
  const page = { theme: themeOf(request), returnTo, fault, accessUser: null };
  return html(<Login {...page} />, status);
}
