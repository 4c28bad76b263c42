import { holderOfKey } from "../../api/http/auth.ts";
import { requireRuntime } from "../../api/http/route.ts";
import type { Runtime } from "../../config/runtime.ts";
import { log } from "../../log.ts";
import { isLoopback } from "../../security/url-policy.ts";
import { accountOf } from "../../task-object/caller.ts";
import { measureRefusal } from "../../task-object/measure.ts";
import { html } from "../answer.ts";
import { requireOwnForm } from "../own-form.ts";
import { type Theme, themeOf } from "../parts/layout.tsx";
import { PublicLayout } from "../parts/public-layout.tsx";
import { type Page, publicPage, readForm } from "../page.ts";
import { safeReturnTo } from "../return-to.ts";
import { endSession, startSession, visitorOf } from "../session.ts";

const WRONG_KEY = "No operator key and no account key is like this one.";
const NOT_SECURE =
  "This address is not encrypted, so the key would be readable on its way. Use the https:// address of the relay.";

/** The login: one field for an operator key or an account's key. */
export const loginPage = publicPage("/login", async ({ request, env, url }) => {
  const returnTo = safeReturnTo(url.searchParams.get("return_to") ?? "", url.origin);
  const runtime = await requireRuntime(env);
  const visitor = await visitorOf(request, runtime, env);
  if (visitor !== null) return seeOther(returnTo);
  return answer(request, returnTo, isSafe(url, runtime) ? null : NOT_SECURE, 200);
});

/** Exchanges a key for a session cookie. A wrong key counts like one that the API refuses. */
export const logIn: Page = {
  method: "POST",
  path: "/login",
  access: "anyone",
  answer: async ({ request, env, url }) => {
    requireOwnForm(request, env);
    const runtime = await requireRuntime(env);
    const form = await readForm(request, runtime);
    const returnTo = safeReturnTo(form.get("return_to") ?? "", url.origin);
    if (!isSafe(url, runtime)) return answer(request, returnTo, NOT_SECURE, 403);
    const key = (form.get("key") ?? "").trim();
    const viewer = await holderOfKey(key, request.headers, runtime, env);
    if (viewer === null) {
      measureRefusal(env.METRICS);
      return answer(request, returnTo, WRONG_KEY, 401);
    }
    log({ event: "console.login", by: viewer.key, account: accountOf(viewer) });
    const cookie = await startSession(request, viewer, key, runtime);
    return seeOther(returnTo, { "Set-Cookie": cookie });
  },
};

/**
 * Ends the session, also for a copy of its cookie. `Clear-Site-Data` does not name `cookies`: that would log the user out of
 * every site of the domain.
 */
export const logOut: Page = {
  method: "POST",
  path: "/logout",
  access: "anyone",
  answer: async ({ request, env }) => {
    requireOwnForm(request, env);
    return seeOther("/login", {
      "Set-Cookie": await endSession(request, await requireRuntime(env), env),
      "Clear-Site-Data": '"cache"',
    });
  },
};

/** Tells whether nobody can read a key on its way to this address; a proxy may add the encryption. */
function isSafe(url: URL, { config }: Runtime): boolean {
  const isProxied = config.publicUrl?.startsWith("https:") ?? false;
  return url.protocol === "https:" || isProxied || isLoopback(url);
}

function seeOther(path: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 303, headers: { Location: path, ...headers } });
}

interface LoginProps {
  readonly theme: Theme;
  readonly returnTo: string;
  /** What was wrong with the key or the address; null at first. */
  readonly fault: string | null;
}

function answer(
  request: Request,
  returnTo: string,
  fault: string | null,
  status: number,
): Promise<Response> {
  return html(<Login theme={themeOf(request)} returnTo={returnTo} fault={fault} />, status);
}

function Login({ theme, returnTo, fault }: LoginProps) {
  return (
    <PublicLayout title="Log in" theme={theme}>
      <h1>Log in</h1>
      <form method="post" action="/login" class="stack">
        <input type="hidden" name="return_to" value={returnTo} />
        <div class="field">
          <label for="key">Operator key or account key</label>
          <input
            id="key"
            type="password"
            name="key"
            required
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
          <button type="submit" class="button button-primary">
            Log in
          </button>
        </p>
        {returnTo !== "/" && (
          <p class="muted small">
            You will return to <code>{returnTo}</code>.
          </p>
        )}
      </form>
      <h2>Where the key is</h2>
      <p>
        The operator keys are the words of <code>OPERATOR_KEYS</code>: on your own machine in the
        file <code>.dev.vars</code>, for a deployment in <code>.secrets</code>. Leave out the role
        and the label before the key. An account gets its key (<code>trk_…</code>) from the
        operator.
      </p>
    </PublicLayout>
  );
}
