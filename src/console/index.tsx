/**
 * The console: pages for people, rendered here. Only app.ts imports it, at the first request that a browser
 * sends, so that a relay that nobody looks at never evaluates it.
 */
import { Hono } from "hono/tiny";
import { honoPath } from "../api/http/path.ts";
import { Problem } from "../api/http/problem.ts";
import type { Env } from "../env.ts";
import { assetAnswer } from "./assets.ts";
import type { Page } from "./page.ts";
import { errorsPage, referencePage } from "./pages/docs/pages.tsx";
import { homePage } from "./pages/home.tsx";
import { loginPage, logIn, logOut } from "./pages/login.tsx";

export { problemPage } from "./pages/problem.tsx";

/** All pages, and all changes that their forms order. */
const PAGES: readonly Page[] = [homePage, loginPage, logIn, logOut, referencePage, errorsPage];

const pages = new Hono<{ Bindings: Env }>();

for (const page of PAGES) {
  pages.on(page.method, honoPath(page.path), ({ req, env }) =>
    page.answer({ request: req.raw, env, url: new URL(req.url), params: req.param() }),
  );
}

pages.get("/assets/*", ({ req }) => {
  const answer = assetAnswer(req.path);
  if (answer === null) throw noPage();
  return answer;
});

pages.all("*", () => {
  throw noPage();
});

// The application that calls this one makes the page of an error, and logs it.
pages.onError((error) => {
  throw error;
});

/**
 * Answers a request for a page or for a file that pages load.
 * @throws Problem when the page cannot be shown, e.g. `not_found` when the console has no such page.
 */
export async function answerBrowser(request: Request, env: Env): Promise<Response> {
  return pages.fetch(request, env);
}

function noPage(): Problem {
  return new Problem("not_found", { detail: "The console has no page with this address." });
}
