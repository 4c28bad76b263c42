import { html } from "../answer.ts";
import { frameOf } from "../frame.ts";
import { viewerPage } from "../page.ts";
import { Layout } from "../parts/layout.tsx";
import { PageHead } from "../parts/page-head.tsx";

/** The front page. */
export const homePage = viewerPage("/", "read", (visit) =>
  html(
    <Layout title="Overview" frame={frameOf(visit)} section="overview">
      <PageHead title="Overview" />
    </Layout>,
  ),
);
