import { holderOfKey } from "../../api/http/auth.ts";
import { requireRuntime } from "../../api/http/route.ts";
import type { Runtime } from "../../config/runtime.ts";
import { log } from "../../lib/log.ts";
import { accountOf } from "../../objects/task/caller.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import { isLoopback } from "../../security/url-rules.ts";
import { readForm } from "../http/forms.ts";
import { html, seeOther } from "../http/html-answer.ts";
import { publicForm, publicPage, viewerPage } from "../http/page.ts";
import { type Theme, themeOf } from "../layout/layout.tsx";
import { PublicLayout } from "../layout/public-layout.tsx";
import { accessUserOf } from "../session/access.ts";
import { safeReturnTo } from "../session/return-to.ts";
import { endSession, sessionVisitorOf, startSession } from "../session/session.ts";

const WRONG_KEY = "This is neither an operator key nor the key of an account.";
const NOT_SECURE =
  "This address is not encrypted, so the key would be readable on its way. Use the https:// address of the relay.";

/**
 * The login page, with one field for an operator key or an account's key. Users of Cloudflare Access need no key; for
 * them the page has a link to log out of Cloudflare Access.
 */
export const loginPage = publicPage("loginPage", "/login", async ({ request, env, url }) => {
  const returnTo = safeReturnTo(url.searchParams.get("return_to") ?? "", url.origin);
  const runtime = requireRuntime(env);
  if ((await sessionVisitorOf(request, runtime, env)) !== null) return seeOther(returnTo);
  const user = await accessUserOf(request, runtime.config);
  const fault = isSafe(url, runtime) ? null : NOT_SECURE;
  const page = { theme: themeOf(request), returnTo, fault, accessUser: user?.key ?? null };
  return html(<Login {...page} />);
});

/**
 * Tells the script of a page, by the status 204, that its viewer is still logged in. The script asks before it sends a
 * form. A viewer who is no longer logged in gets the same response as for the refresh of a page.
 */
export const loginCheck = viewerPage(
  "loginCheck",
  "/login/check",
  "read",
  async () => new Response(null, { status: 204 }),
);

/** Exchanges an API key for a session cookie. A wrong key counts for `LIMIT_REFUSALS`, as in the API. */
export const logIn = publicForm("logIn", "/login", async ({ request, env, url }) => {
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
});

/**
 * Ends the session, so that a copy of its cookie becomes useless, too. The header `Clear-Site-Data` does not name
 * `cookies`, because this would log the user out of all sites of the domain.
 */
export const logOut = publicForm("logOut", "/logout", async ({ request, env }) =>
  seeOther("/login", {
    "Set-Cookie": await endSession(request, requireRuntime(env), env),
    "Clear-Site-Data": '"cache"',
  }),
);

/**
 * Tells whether a key can be sent to this address without others reading it. An http address counts as safe when it is
 * one of this machine, or when `PUBLIC_URL` is https, because a proxy then encrypts.
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

interface LoginProps {
  readonly theme: Theme;
  readonly returnTo: string;
  /**
   * Message that the key is wrong, or that others could read it, because the address of the login page is not https;
   * null when there is nothing to say.
   */
  readonly fault: string | null;
  /** User who has logged in by Cloudflare Access; null when there is none. */
  readonly accessUser: string | null;
}

/** The page with the login form. */
function Login({ theme, returnTo, fault, accessUser }: LoginProps) {
  return (
    <PublicLayout title="Log in" theme={theme}>
      <div class="stack">
        <div class="stack-s">
          <h1>Log in</h1>
          <p class="muted">
            {returnTo === "/" ? (
              "An operator sees the whole relay, an account its own tasks."
            ) : (
              <>
                You will return to <code>{returnTo}</code>.
              </>
            )}
          </p>
        </div>
        {accessUser !== null && <AccessUser name={accessUser} returnTo={returnTo} />}
        <KeyForm returnTo={returnTo} fault={fault} />
        <section class="panel">
          <div class="panel-head">
            <h2>Where the key is</h2>
          </div>
          <dl class="fields">
            <dt>This machine</dt>
            <dd>
              <code>OPERATOR_KEYS</code> in the file <code>.dev.vars</code>
            </dd>
            <dt>A deployment</dt>
            <dd>
              <code>OPERATOR_KEYS</code> in the file <code>.secrets</code>, without role and label
            </dd>
            <dt>An account</dt>
            <dd>
              <code>trk_…</code>, from whoever operates this relay
            </dd>
          </dl>
        </section>
      </div>
    </PublicLayout>
  );
}

function AccessUser({ name, returnTo }: { readonly name: string; readonly returnTo: string }) {
  return (
    <div class="stack-s">
      <p>
        Cloudflare Access has logged you in as <strong>{name}</strong>. A key may permit more.
      </p>
      <p class="buttons">
        <a class="button" href={returnTo}>
          Continue as {name}
        </a>
        <a class="button button-plain" href="/cdn-cgi/access/logout">
          Log out of Access
        </a>
      </p>
    </div>
  );
}

function KeyForm({ returnTo, fault }: Pick<LoginProps, "returnTo" | "fault">) {
  return (
    <form method="post" action="/login" class="stack-s">
      <input type="hidden" name="return_to" value={returnTo} />
      <div class="field">
        <label for="key">Operator key or account key</label>
        <input
          id="key"
          type="password"
          name="key"
          required
          autofocus
          autocomplete="current-password"
          spellcheck={false}
          {...(fault !== null && { "aria-invalid": "true", "aria-describedby": "fault" })}
        />
        {fault !== null && (
          <p id="fault" class="field-error" role="alert">
            {fault}
          </p>
        )}
      </div>
      <p class="buttons">
        <button type="submit" class="button button-main">
          Log in
        </button>
      </p>
    </form>
  );
}
