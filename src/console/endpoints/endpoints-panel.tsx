import type { EndpointOwner } from "../../api/endpoints/endpoint-client.ts";
import { DEFAULT_ENDPOINT } from "../../core/record/endpoint-copy.ts";
import type { StoredEndpoint } from "../../objects/account/endpoint-store.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { scheduleSummary } from "./schedule-drawing.tsx";

/** Stands in the path for an endpoint that does not exist yet. No endpoint has this name. */
export const NEW_ENDPOINT = "_new";

/** Returns the path of the page of an endpoint, or of the form for a new one. */
export function endpointPath(account: EndpointOwner, name: string): string {
  const owner = account === null ? "" : `/accounts/${account}`;
  return `${owner}/endpoints/${name}`;
}

interface EndpointsProps {
  /** Account that has the endpoints; null for those of the relay. */
  readonly account: EndpointOwner;
  readonly endpoints: readonly StoredEndpoint[];
}

/** Section of an account's page with its endpoints, for viewers who may change them. */
export function EndpointsPanel({ account, endpoints }: EndpointsProps) {
  return (
    <Panel
      title="Endpoints"
      aside={
        <a class="button button-small" href={endpointPath(account, NEW_ENDPOINT)}>
          Create an endpoint
        </a>
      }
    >
      {endpoints.length === 0 ? (
        <p class="muted">
          None. An endpoint is a receiver with a name, which tasks state in place of a URL, with
          headers, waits and events.
        </p>
      ) : (
        <EndpointsTable account={account} endpoints={endpoints} />
      )}
    </Panel>
  );
}

export function EndpointsTable({ account, endpoints }: EndpointsProps) {
  return (
    <Table
      caption="Endpoints"
      columns={columns(account)}
      rows={endpoints}
      rowId={({ name }) => `endpoint-${name}`}
    />
  );
}

function columns(account: EndpointOwner): readonly Column<StoredEndpoint>[] {
  const owner = account === null ? "of the relay" : "of the account";
  return [
    {
      title: "Endpoint",
      cell: ({ name, url }) => (
        <>
          <a href={endpointPath(account, name)}>{name}</a>
          <p class="small">
            <Hostile text={url} />
          </p>
          {name === DEFAULT_ENDPOINT ? (
            <p class="muted small">for tasks that name no receiver</p>
          ) : null}
        </>
      ),
    },
    { title: "Told of", cell: ({ events }) => events.join(", ") },
    {
      title: "Waits",
      cell: ({ scheduleMs }) =>
        scheduleMs === null ? "of the relay" : scheduleSummary(scheduleMs),
    },
    { title: "Headers", cell: ({ headers }) => headers?.names.join(", ") ?? "none" },
    {
      title: "Secret",
      cell: ({ secret }) => (secret === null ? owner : `its own, no. ${secret.generation}`),
    },
    { title: "Changed", isSpare: true, cell: ({ changedAt }) => <Time at={changedAt} /> },
  ];
}
