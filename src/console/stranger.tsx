import { html } from "./html-answer.ts";
import { cookieHeader, cookieOf } from "./cookie.ts";
import { themeOf } from "./parts/layout.tsx";
import { PublicLayout } from "./parts/public-layout.tsx";
import { loginPath, pathOf } from "./return-to.ts";
import { Problem } from "../api/http/problem.ts";
import { hasSession } from "./session.ts";
import { SECOND_MS } from "../core/time.ts";

/**
 * Cookie of a browser that was sent a page which reloads itself, so that it is not sent such a page again and
 * again.
 */
const BOUNCED = "task-relay-bounced";
const BOUNCED_MS = 10 * SECOND_MS;

/** Header with which the script of a page marks a request that refreshes the page. */
const REFRESH_HEADER = "X-Refresh";

/**
 * Answers to a request for a page by somebody who is not logged in. The refresh of an open page gets a message,
 * which that page shows above its data. A visitor who follows a link on another site gets a page that reloads
 * itself, because the browser holds back the session cookie at first. All others are redirected to the login.
 * @throws Problem `unauthenticated` for a form.
 */
export async function strangerAnswer(request: Request): Promise<Response> {
  const path = pathOf(new URL(request.url));
  if (request.headers.has(REFRESH_HEADER)) return html(<Expired path={path} />, 401);
  if (request.method === "POST") {
    const detail =
      "Your login has ended. Nothing has been changed: log in and send the form again.";
    throw new Problem("unauthenticated", { detail });
  }
  if (isFromElsewhere(request)) return bounce(request, path);
  return new Response(null, { status: 303, headers: { Location: loginPath(path) } });
}

/** Text that an open page shows when a refresh, or the check before a form is sent, finds that the login has ended. */
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
 * Tells whether a link on another site led here, e.g. in a chat: the browser then holds back the session
 * cookie, which is `SameSite=Strict`.
 */
function isFromElsewhere(request: Request): boolean {
  const isCrossSite = request.headers.get("Sec-Fetch-Site") === "cross-site";
  return isCrossSite && !hasSession(request) && cookieOf(request, BOUNCED) === null;
}

/**
 * Answers with a page that reloads itself: for the second request the browser regards the relay as the site
 * that made it, and so sends the session cookie.
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
