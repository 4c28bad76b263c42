import { Problem } from "../../api/http/problem.ts";
import { SECOND_MS } from "../../core/time.ts";
import { html } from "../http/html-answer.ts";
import { isRefresh } from "../http/refresh-request.ts";
import { themeOf } from "../layout/layout.tsx";
import { PublicLayout } from "../layout/public-layout.tsx";
import { cookieHeader, cookieOf } from "./cookie.ts";
import { loginPath, pathOf } from "./return-to.ts";
import { hasSession } from "./session.ts";

/**
 * Cookie that marks a browser to which the relay has just sent a page that reloads itself. Such a browser gets no
 * second page of this kind, so that it does not reload for ever.
 */
const BOUNCED = "task-relay-bounced";
const BOUNCED_MS = 10 * SECOND_MS;

/**
 * Returns the response to a request for a page by somebody who is not logged in. The refresh of an open page gets a
 * message, which that page shows above its data. A visitor who has followed a link on another site gets a page that
 * reloads itself, because the browser withholds the session cookie from the first request. All others are redirected to
 * the login.
 * @throws Problem `unauthenticated` when the request sends a form.
 */
export async function strangerAnswer(request: Request): Promise<Response> {
  const path = pathOf(new URL(request.url));
  if (isRefresh(request)) return html(<Expired path={path} />, 401);
  if (request.method === "POST") {
    const detail =
      "Your login has ended. Nothing has been changed: log in and send the form again.";
    throw new Problem("unauthenticated", { detail });
  }
  if (isFromElsewhere(request)) return bounce(request, path);
  return new Response(null, { status: 303, headers: { Location: loginPath(path) } });
}

/**
 * Text for an open page whose viewer is no longer logged in. The page learns this by a refresh, or by the check before
 * it sends a form.
 */
function Expired({ path }: { readonly path: string }) {
  return (
    <p id="login-ended" class="strip" role="alert">
      Your login has ended. What you see and have typed stays here.{" "}
      <a href={loginPath(path)} target="_blank">
        Log in again
      </a>
    </p>
  );
}

/**
 * Tells whether the visitor has followed a link on another site, e.g. in a chat. The browser withholds the session
 * cookie from such a request, because of the cookie's attribute `SameSite=Strict`.
 */
function isFromElsewhere(request: Request): boolean {
  const isCrossSite = request.headers.get("Sec-Fetch-Site") === "cross-site";
  return isCrossSite && !hasSession(request) && cookieOf(request, BOUNCED) === null;
}

/**
 * Returns a page that reloads itself, so that the browser sends the session cookie: the second request comes from a
 * page of the relay itself.
 */
function bounce(request: Request, path: string): Promise<Response> {
  const page = (
    <PublicLayout title="One moment" theme={themeOf(request)}>
      <p>
        <a href={path}>Continue</a>
      </p>
    </PublicLayout>
  );
  return html(page, 200, {
    Refresh: `0; url=${path}`,
    "Set-Cookie": cookieHeader(request, BOUNCED, "1", BOUNCED_MS, "Lax"),
  });
}
