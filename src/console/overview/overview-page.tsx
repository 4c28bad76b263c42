import { linkOrigin } from "../../api/http/link-origin.ts";
import { countRequest } from "../../api/http/rate-limit.ts";
import { html } from "../http/html-answer.ts";
import { type ViewerVisit, viewerPage } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import {
  AccountOverview,
  readAccountFacts,
  awaitWatchedTask,
  newestOpenTask,
} from "./account-overview.tsx";
import { OperatorOverview, rangeIn, readOperatorFacts } from "./operator-overview.tsx";

/** The front page. Operators see the problems and numbers of the relay, accounts see their own tasks. */
export const overviewPage = viewerPage("overviewPage", "/", "read", async (visit) => {
  const { viewer } = visit;
  const content =
    viewer.kind === "account" ? await ofAccount(visit, viewer.id) : await ofAll(visit);
  return html(
    <Layout title="Overview" frame={frameOf(visit)} section="overview" isLive>
      {content}
    </Layout>,
  );
});

async function ofAccount(visit: ViewerVisit, account: string) {
  const { request, env, viewer } = visit;
  await countRequest("LIMIT_LISTS", viewer, env);
  const held = await awaitWatchedTask(visit);
  // The page has been counted as one request.
  const counted = { ...visit, counted: "LIMIT_LISTS" } as const;
  const facts = await readAccountFacts(counted, account, isRefresh(request));
  const watched = await newestOpenTask(facts.tasks ?? [], held, visit);
  return (
    <AccountOverview
      facts={facts}
      watched={watched}
      account={account}
      origin={linkOrigin(env, request)}
    />
  );
}

async function ofAll(visit: ViewerVisit) {
  const { request, env, runtime, url } = visit;
  const range = rangeIn(url.searchParams.get("range"));
  const facts = await readOperatorFacts(visit, range, isRefresh(request));
  const { isSandboxOn } = runtime.config;
  return (
    <OperatorOverview facts={facts} origin={linkOrigin(env, request)} isSandboxOn={isSandboxOn} />
  );
}

/**
 * Tells whether a request is the refresh of an open page, which replaces only some parts of the page
 * (client/refresh.js).
 */
function isRefresh({ headers }: Request): boolean {
  return headers.has("X-Refresh");
}
