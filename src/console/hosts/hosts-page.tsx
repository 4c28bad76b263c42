import type { HostView } from "../../api/search/host-views.ts";
import { listHosts } from "../../api/search/read-hosts.ts";
import { may } from "../../objects/task/caller.ts";
import { html } from "../http/html-answer.ts";
import { viewerPage } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { countText, percentText } from "../parts/format.ts";
import { HourLegend, HourStrip } from "../parts/hour-strip.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";

/** Largest number of hosts that the page of hosts lists. */
const MAX_HOSTS = 200;

export const hostsPage = viewerPage("hostsPage", "/hosts", "inspect", async (visit) => {
  const given = { params: {}, query: { limit: String(MAX_HOSTS) } };
  const { failing, list } = await listHosts.perform(given, visit.viewer, visit);
  const { data, total, counted_at: countedAt } = list;
  const now = Date.now();
  const sub =
    failing === 0 ? "No host fails at present." : `${failing} of ${total} fail at present.`;
  return html(
    <Layout title="Hosts" frame={frameOf(visit)} section="hosts" isLive>
      <PageHead
        title="Hosts"
        sub={`Receivers of callbacks in the last 24 hours, worst first. ${sub}`}
      >
        <ApiDialog origin={visit.url.origin} paths={["/v1/hosts"]} />
        {may(visit.viewer, "operate") ? (
          <a class="button" href="/endpoints">
            Endpoints of the relay
          </a>
        ) : null}
      </PageHead>
      <div id="hosts" class="stack-s" data-refresh="60">
        {data.length === 0 ? (
          <Empty icon="host" title="No callbacks in the last 24 hours">
            <p>A host appears here when a callback to it was counted or has failed.</p>
          </Empty>
        ) : (
          <>
            <HourLegend />
            <Table
              caption="Hosts with their callbacks of the last 24 hours"
              columns={columns(now)}
              rows={data}
              rowId={({ host }) => `host-${host}`}
            />
          </>
        )}
        <p class="muted small">
          {countedAt === null ? (
            "Not counted yet: only failing hosts are shown."
          ) : (
            <>
              Counted <Ago at={countedAt * 1000} now={now} />.
            </>
          )}
          {total > MAX_HOSTS ? ` Only the first ${MAX_HOSTS} are shown.` : ""}
        </p>
      </div>
    </Layout>,
  );
});

function columns(now: number): readonly Column<HostView>[] {
  return [
    {
      title: "Host",
      cell: (host) => <HostName host={host} />,
    },
    {
      title: "24 hours",
      cell: ({ callbacks_by_hour: callbacks, failed_by_hour: failed }) => (
        <HourStrip counts={callbacks} failed={failed} />
      ),
    },
    { title: "Callbacks", isNumber: true, cell: ({ callbacks }) => countText(callbacks.total) },
    {
      title: "Delivered",
      isNumber: true,
      cell: ({ success_rate: rate }) => (rate === null ? "–" : percentText(rate)),
    },
    {
      title: "Failed",
      isNumber: true,
      cell: ({ host, callbacks, failing }) => {
        const failed = Math.max(callbacks.failed, failing?.failed ?? 0);
        const path = `/tasks?callback=failed&host=${encodeURIComponent(host)}`;
        return failed === 0 || host === "*" ? (
          countText(failed)
        ) : (
          <a href={path}>{countText(failed)}</a>
        );
      },
    },
    {
      title: "Attempts each",
      isNumber: true,
      cell: ({ attempts_per_callback: attempts }) => attempts?.toFixed(2) ?? "–",
    },
    {
      title: "Last failure",
      cell: ({ last_failed_at: at }) => (at === null ? "–" : <Ago at={at * 1000} now={now} />),
    },
  ];
}

function HostName({ host: view }: { readonly host: HostView }) {
  const { host, failing, paused_until: until } = view;
  return (
    <div class="host-name">
      <a href={`/hosts/${encodeURIComponent(host)}`}>{host === "*" ? "Other hosts" : host}</a>
      {until === null ? null : (
        <span class="small tone-warn">
          paused until <Time at={until * 1000} />
        </span>
      )}
      {failing === null ? null : (
        <span class="small tone-bad host-fails">
          {failing.status_code ?? failing.outcome ?? "fails"} since{" "}
          <Time at={failing.since * 1000} />
        </span>
      )}
    </div>
  );
}
