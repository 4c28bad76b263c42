import type { connectionsOf } from "../../../api/health.ts";
import { SECOND_MS } from "../../../core/time.ts";
import { documentedLimits } from "../../../providers/documented-limits.ts";
import type { Connection } from "../../../providers/provider.ts";
import { Status } from "../../parts/chip.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

type States = Awaited<ReturnType<typeof connectionsOf>>;

interface Row {
  readonly connection: Connection;
  /**
   * What is known of a connection to a provider whose API key is configured, e.g. since when the provider
   * refuses the key; undefined for a connection without a key.
   */
  readonly state: States[string] | undefined;
}

interface ConnectionTableProps {
  readonly connections: readonly Connection[];
  readonly states: States;
}

/**
 * Table of all connections to providers, those with an API key first: the state of the key, how hooks are
 * authenticated, and how long the provider's links to outputs stay valid.
 */
export function ConnectionTable({ connections, states }: ConnectionTableProps) {
  const rows = connections
    .map((connection) => ({ connection, state: states[connection.name] }))
    .toSorted((a, b) => Number(a.state === undefined) - Number(b.state === undefined));
  return (
    <Table
      caption="Connections to providers"
      columns={COLUMNS}
      rows={rows}
      rowId={({ connection }) => `connection-${connection.name}`}
    />
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Connection", cell: ({ connection }) => <Name {...connection} /> },
  { title: "Key", cell: (row) => <Key {...row} /> },
  { title: "Hooks", cell: (row) => <Hooks {...row} /> },
  { title: "Hook URL goes into", cell: ({ connection }) => <Parameter {...connection} /> },
  {
    title: "Links live",
    cell: ({ connection: { provider } }) =>
      "linkLife" in provider ? documentedLimits(provider).linkLife : "",
  },
];

function Name({ name, provider, baseUrl }: Connection) {
  return (
    <>
      <a href={`/tasks?provider=${encodeURIComponent(provider.name)}`}>{name}</a>
      <p class="muted small">
        {name === provider.name ? "" : `${provider.name} · `}
        {baseUrl.replace("https://", "")}
      </p>
    </>
  );
}

function Key({ connection: { provider }, state }: Row) {
  if (!("linkLife" in provider)) return <Status of="simulated" />;
  if (state === undefined) return <Status of="missing" />;
  const { unclear } = state;
  return (
    <>
      <Status of={state.key} />
      {"refused_at" in state ? (
        <p class="muted small">
          since <Time at={state.refused_at * SECOND_MS} />
        </p>
      ) : null}
      {unclear === undefined ? null : (
        <p class="muted small">
          answer {unclear.status_code} not understood, <Time at={unclear.at * SECOND_MS} />
        </p>
      )}
    </>
  );
}

/**
 * Describes how the hooks of a connection to a provider are authenticated: by their signature when the
 * connection has the secret or the public keys to verify it, else by their secret URL.
 */
function Hooks({ connection: { provider, webhookSecret, jwksUrl }, state }: Row) {
  const hooks = "linkLife" in provider ? provider.hooks : null;
  if (hooks === null) return "none, polled";
  const isVerified = webhookSecret !== null || jwksUrl !== null;
  const byUrl = state === undefined ? "by their URL" : "by their URL; a poll decides";
  const trust =
    hooks.assurance === "capability-url"
      ? byUrl
      : isVerified
        ? `signed ${hooks.assurance === "body-signed" ? "bodies" : "requests"}`
        : `signature not checked, ${byUrl}`;
  return (
    <>
      {trust}
      {state !== undefined && "hooks" in state ? (
        <p class="field-error">expected, and none came for the last 20 tasks</p>
      ) : null}
    </>
  );
}

function Parameter({ provider }: Connection) {
  const hooks = "linkLife" in provider ? provider.hooks : null;
  if (hooks === null) return "";
  return (
    <>
      <code>{hooks.parameter}</code>
      {hooks.idParameter === null ? null : (
        <p class="muted small">
          task id into <code>{hooks.idParameter}</code>
        </p>
      )}
    </>
  );
}
