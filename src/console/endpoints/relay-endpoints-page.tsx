import * as z from "zod/mini";
import { readQuery } from "../../api/http/query.ts";
import { html } from "../http/html-answer.ts";
import { viewerPage } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { Notice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { listOf } from "./endpoint-operations.ts";
import { endpointPath, EndpointsTable, NEW_ENDPOINT } from "./endpoints-panel.tsx";

const Query = z.object({ done: z.optional(z.string()) });

/** The page that lists the endpoints of the relay itself, for tasks without an account. */
export const relayEndpointsPage = viewerPage(
  "relayEndpointsPage",
  "/endpoints",
  "operate",
  async (visit) => {
    const { done } = readQuery(Query, visit.url);
    const endpoints = await listOf(null, visit);
    return html(
      <Layout title="Endpoints" frame={frameOf(visit)} section="hosts">
        <PageHead
          title="Endpoints of the relay"
          sub="Receivers with a name, for tasks without an account. Those of an account are on its page."
        >
          <ApiDialog origin={visit.url.origin} paths={["/v1/endpoints"]} />
          <a class="button button-main" href={endpointPath(null, NEW_ENDPOINT)}>
            Create an endpoint
          </a>
        </PageHead>
        <div class="stack-s">
          {done === "deleted" ? (
            <Notice
              tone="ok"
              icon="check"
              title="The endpoint is deleted. Tasks keep their copy."
            />
          ) : null}
          {endpoints.length === 0 ? (
            <Empty icon="host" title="The relay has no endpoints">
              <p>
                An endpoint has a URL with headers, waits and events. Tasks name it in place of a
                URL; those that name no receiver get the one called <code>default</code>.
              </p>
            </Empty>
          ) : (
            <EndpointsTable account={null} endpoints={endpoints} />
          )}
        </div>
      </Layout>,
    );
  },
);
