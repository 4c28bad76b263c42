import type { HostView } from "../../api/search/host-views.ts";
import { Chip } from "../parts/chip.tsx";
import { countText, percentText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Ago } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";

/** Number of hosts that the overview shows. */
export const SHOWN_HOSTS = 5;

interface HostsTableProps {
  /** The hosts to show, at most `SHOWN_HOSTS`. */
  readonly hosts: readonly HostView[];
  /** Number of all hosts. */
  readonly total: number;
  readonly now: number;
}

/** The receivers' hosts with the worst results in the last 24 hours. */
export function HostsTable({ hosts, total, now }: HostsTableProps) {
  if (hosts.length === 0) return null;
  const columns: readonly Column<HostView>[] = [
    {
      title: "Host",
      cell: ({ host }) => (
        <a href={`/hosts/${encodeURIComponent(host)}`}>
          <Hostile text={host} />
        </a>
      ),
    },
    { title: "Now", cell: (host) => <StateOf host={host} /> },
    {
      title: "Delivered",
      isNumber: true,
      cell: ({ success_rate: rate }) => (rate === null ? "–" : percentText(rate)),
    },
    { title: "Callbacks", isNumber: true, cell: ({ callbacks }) => countText(callbacks.total) },
    { title: "Failed", isNumber: true, cell: ({ callbacks }) => countText(callbacks.failed) },
    {
      title: "Last failure",
      cell: ({ last_failed_at: at }) => (at === null ? "–" : <Ago at={at * 1000} now={now} />),
    },
  ];
  return (
    <Panel
      title="Hosts, worst first"
      aside={<a href="/hosts">{total > SHOWN_HOSTS ? `All ${countText(total)}` : "All hosts"}</a>}
    >
      <Table
        caption="Hosts of receivers in the last 24 hours"
        columns={columns}
        rows={hosts}
        rowId={({ host }) => `host-${host}`}
      />
    </Panel>
  );
}

/** Shows whether a host is paused, whether callbacks to it succeed at present and, while they fail, their HTTP status or outcome. */
function StateOf({ host }: { readonly host: HostView }) {
  const { failing, callbacks, last_failed_at: failedAt, paused_until: pausedUntil } = host;
  if (pausedUntil !== null) return <Chip tone="warn" icon="clock" word="paused" />;
  if (failing !== null) {
    const { status_code: code, outcome } = failing;
    return <Chip tone="bad" icon="cross" word={`fails: ${code ?? outcome ?? "no answer"}`} />;
  }
  if (callbacks.delivered > 0) return <Chip tone="ok" icon="check" word="takes callbacks" />;
  return failedAt === null ? (
    <Chip tone="idle" icon="clock" word="none settled yet" />
  ) : (
    <Chip tone="warn" icon="warn" word="none delivered" />
  );
}
