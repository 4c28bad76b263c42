import { html } from "../http/html-answer.ts";
import { viewerPage } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { accountOverview } from "./account-overview.tsx";
import { operatorOverview } from "./operator-overview.tsx";

/** The front page. Operators see the relay's problems and numbers, accounts see their own tasks. */
export const overviewPage = viewerPage("overviewPage", "/", "read", async (visit) => {
  const { viewer } = visit;
  const content =
    viewer.kind === "account"
      ? await accountOverview(visit, viewer.id)
      : await operatorOverview(visit);
  return html(
    <Layout title="Overview" frame={frameOf(visit)} section="overview" isLive>
      {content}
    </Layout>,
  );
});
