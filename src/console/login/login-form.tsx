import type { Theme } from "../layout/layout.tsx";
import { PublicLayout } from "../layout/public-layout.tsx";

interface LoginProps {
  readonly theme: Theme;
  readonly returnTo: string;
  /**
   * Message that the key is wrong, or that the address of the login page is not https, so that others could read the
   * key. Null means no message.
   */
  readonly fault: string | null;
  /** User whom Cloudflare Access has let through; null when there is no such user. */
  readonly accessUser: string | null;
}

/** The page with the login form. */
export function Login({ theme, returnTo, fault, accessUser }: LoginProps) {
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
