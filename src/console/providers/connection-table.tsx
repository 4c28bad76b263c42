import type { HealthDetails } from "../../api/health/details.ts";
import type { OpenTasks } from "../../api/search/read-open.ts";
import type { ConfigIssue } from "../../config/issue.ts";
import { SECOND_MS } from "../../core/time.ts";
import { documentedLimits } from "../../providers/documented-limits.ts";
import { areHooksVerified } from "../../providers/verifies-hooks.ts";
import type { Connection, HookAdapter, Pool, Provider } from "../../providers/provider.ts";
import { PROVIDERS } from "../../providers/registry.ts";
import { Status } from "../parts/chip.tsx";
import { countOf, countText } from "../parts/format.ts";
import { Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { pathWith } from "../tasks/task-parameters.ts";

interface Row {
  readonly name: string;
  /** Provider of the connection. Undefined for a simulated provider that is not switched on. */
  readonly provider: Provider | undefined;
  /** The connection. Undefined for a provider that has no connection. */
  readonly connection: Connection | undefined;
  /**
   * State of a connection that has an API key, e.g. since when the provider refuses the key. Undefined for any other
   * row.
   */
  readonly state: HealthDetails["connections"][string] | undefined;
  /**
   * Settings that are missing for a connection without an API key, or for a provider without a connection. Undefined
   * for any other row.
   */
  readonly lack: HealthDetails["without_key"][string] | undefined;
  /** Faults in the entry of a connection, which have disabled it. Undefined for any other row. */
  readonly faults: readonly ConfigIssue[] | undefined;
}

interface ConnectionTableProps {
  readonly connections: ReadonlyMap<string, Connection>;
  readonly details: Pick<HealthDetails, "connections" | "pools" | "without_key" | "disabled">;
  /** Numbers of open tasks of all connections; null when they could not be counted. */
  readonly open: OpenTasks | null;
}

/**
 * Table of all connections to providers, and of the providers without a connection. Connections with an API key come
 * first, then the pools of them. The table shows the state of the key, the open tasks, how hooks are authenticated, and
 * how long the provider's links to outputs work.
 */
export function ConnectionTable({ connections, details, open }: ConnectionTableProps) {
  const { connections: states, pools, without_key: lacks, disabled } = details;
  const faulty = Object.fromEntries(disabled.map(({ name, issues }) => [name, issues]));
  const rows = Object.keys({ ...states, ...pools, ...lacks, ...faulty }).map((name) => {
    const connection = connections.get(name);
    const provider = connection?.provider ?? PROVIDERS.get(name);
    return {
      name,
      provider,
      connection,
      state: states[name],
      lack: lacks[name],
      faults: faulty[name],
    };
  });
  const columns = open === null ? COLUMNS : COLUMNS.toSpliced(2, 0, openColumn(open));
  return (
    <Table
      caption="Connections to providers"
      columns={columns}
      rows={rows}
      rowId={({ name }) => `connection-${name}`}
    />
  );
}

function openColumn(open: OpenTasks): Column<Row> {
  return { title: "Open tasks", cell: ({ name }) => <OpenCell name={name} open={open} /> };
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Connection", cell: (row) => <Name {...row} /> },
  { title: "Key", cell: (row) => <Key {...row} /> },
  { title: "Hooks", cell: (row) => <Hooks {...row} /> },
  { title: "Hook URL goes into", cell: (row) => <Parameter {...row} /> },
  {
    title: "Links live",
    cell: ({ provider }) =>
      provider !== undefined && "linkLife" in provider ? documentedLimits(provider).linkLife : "",
  },
];

function Name({ name, connection }: Row) {
  const { provider, baseUrl = "" } = connection ?? {};
  return (
    <>
      <a href={`/tasks?provider=${encodeURIComponent(name)}`}>{name}</a>
      <p class="muted small">
        {provider === undefined || name === provider.name ? "" : `${provider.name} · `}
        {baseUrl.replace("https://", "")}
      </p>
    </>
  );
}

function poolText({ members, submitsFailedAgain }: Pool): string {
  const names = members.map(({ name }) => name).join(", ");
  return submitsFailedAgain ? `of ${names}; failed jobs go to the next` : `of ${names}`;
}

function Key({ connection, state, lack, faults }: Row) {
  if (faults !== undefined) return <Faults issues={faults} />;
  const pool = connection?.pool ?? null;
  if (pool !== null) return poolText(pool);
  if (state === undefined) return lack === undefined ? "" : <Lack {...lack} />;
  const { unclear } = state;
  return (
    <>
      <Status of={state.key} />
      {"refused_at" in state ? (
        <p class="muted small">
          since <Time at={state.refused_at * SECOND_MS} />
        </p>
      ) : null}
      {"funds_refused_at" in state && state.funds_refused_at !== undefined ? (
        <p class="field-error">
          no money left there, <Time at={state.funds_refused_at * SECOND_MS} />
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

/** Shows why a connection is disabled. */
function Faults({ issues }: { readonly issues: readonly ConfigIssue[] }) {
  return (
    <>
      <Status of="disabled" />
      {issues.map(({ path, message }) => (
        <p class="muted small">
          <code>{path}</code> {message}
        </p>
      ))}
    </>
  );
}

/** Shows which settings a connection lacks, and what it can do without them. */
function Lack({ needs, accepts_tasks: acceptsTasks }: NonNullable<Row["lack"]>) {
  if (needs.length === 0) return <Status of="simulated" />;
  return (
    <>
      <Status of="missing" />
      <p class="muted small">
        {needs.map((setting, at) => (
          <>
            {at === 0 ? null : (
              <>
                {" and "}
                <br />
              </>
            )}
            <code>{setting}</code>
          </>
        ))}
        {acceptsTasks ? " · hooks only" : " · takes no tasks"}
      </p>
    </>
  );
}

/**
 * Describes how the hooks of a connection are authenticated: by their signature if the connection has the key or secret
 * to verify it, and otherwise by the secret URL to which they are sent.
 */
function Hooks({ connection, state }: Pick<Row, "connection" | "state">) {
  if (connection === undefined || connection.pool !== null) return "";
  const hooks = hooksOf(connection.provider);
  if (hooks === null) return "none, polled";
  const byUrl = state === undefined ? "by their URL" : "by their URL; a poll decides";
  const trust =
    hooks.assurance === "capability-url"
      ? byUrl
      : areHooksVerified(connection)
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

function Parameter({ provider }: Pick<Row, "provider">) {
  const hooks = hooksOf(provider);
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

/**
 * Returns the adapter that reads a provider's hooks.
 * @returns null when the provider sends no hooks, or is a simulated one.
 */
function hooksOf(provider: Provider | undefined): HookAdapter | null {
  return provider !== undefined && "linkLife" in provider ? provider.hooks : null;
}

const STATUSES = ["pending", "processing"] as const;

interface OpenCellProps {
  /** Name of the connection. */
  readonly name: string;
  readonly open: OpenTasks;
}

/** Table cell with a connection's number of open tasks for each status, with links to the lists of these tasks. */
function OpenCell({ name, open: { connections, is_capped: isCapped } }: OpenCellProps) {
  const own = connections.find(({ connection }) => connection === name);
  if (own === undefined) return <span class="muted">{isCapped ? "–" : "0"}</span>;
  return STATUSES.filter((status) => own[status] > 0).map((status) => (
    <p>
      <a
        class="nowrap"
        href={pathWith("/tasks", new URLSearchParams(), { provider: name, status })}
      >
        {countText(own[status])}
        {isCapped ? "+" : ""} {status}
      </a>
    </p>
  ));
}

interface OpenNoteProps {
  /** Numbers of open tasks of each connection; null when they could not be counted. */
  readonly open: OpenTasks | null;
  readonly isIndexed: boolean;
  /** Tells whether the table of connections has a row for a connection of this name. */
  readonly isListed: (name: string) => boolean;
}

/**
 * Text below the table of connections. It says when the open tasks were counted, and how many of them belong to no
 * connection in the table. When they were not counted, it says why.
 */
export function OpenNote({ open, isIndexed, isListed }: OpenNoteProps) {
  if (open === null) {
    return (
      <p class="muted small">
        {isIndexed
          ? "The index does not answer, so the open tasks of each connection could not be counted."
          : "The number of open tasks of each connection needs the index, and none is bound."}
      </p>
    );
  }
  const others = open.connections.filter(
    ({ connection }) => connection === null || !isListed(connection),
  );
  return (
    <p class="muted small">
      Open tasks (without a result) counted <Time at={open.at * SECOND_MS} />
      {open.is_capped ? "; there are more than were looked at" : ""}.
      {others.map(
        ({ connection, pending, processing }) =>
          ` ${countOf(pending + processing, "open task")} ${
            connection === null ? "without a provider" : `of ${connection}, which is not configured`
          }.`,
      )}
    </p>
  );
}
