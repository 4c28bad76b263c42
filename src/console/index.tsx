/**
 * The console: pages for people, rendered here. Only app.ts imports it, at the first request that a browser
 * sends, so that a relay that nobody looks at never evaluates it.
 */
import { Problem } from "../api/http/problem.ts";
import { assetAnswer } from "./assets.ts";

export { problemPage } from "./pages/problem.tsx";

/**
 * Answers a request for a page or for a file that pages load.
 * @throws Problem `not_found` when the console has no such page.
 */
export async function answerBrowser(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const asset =
    request.method === "GET" || request.method === "HEAD" ? assetAnswer(pathname) : null;
  if (asset !== null) return asset;
  throw new Problem("not_found", { detail: "The console has no page with this address." });
}
