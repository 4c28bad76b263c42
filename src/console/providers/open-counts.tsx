import type { openTasks } from "../../api/search/read-open.ts";
import { SECOND_MS } from "../../core/time.ts";
import { pathWith } from "../tasks/task-parameters.ts";
import { countOf, countText } from "../parts/format.ts";
import { Time } from "../parts/shown-time.tsx";

/** Numbers of open tasks of each connection, counted in the index. */
export type OpenTasks = NonNullable<Awaited<ReturnType<typeof openTasks>>>;

const STATUSES = ["pending", "processing"] as const;

interface OpenCellProps {
  /** Name of the connection. */
  readonly name: string;
  readonly open: OpenTasks;
}

/** The open tasks of a connection: their number for each status, with a link to the list of these tasks. */
export function OpenCell({ name, open: { connections, is_capped: isCapped } }: OpenCellProps) {
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
 * Text below the table of connections. It says when the open tasks were counted, and how many belong to no connection
 * in the table. When they were not counted, it says why.
 */
export function OpenNote({ open, isIndexed, isListed }: OpenNoteProps) {
  if (open === null) {
    return (
      <p class="muted small">
        {isIndexed
          ? "The index does not answer, so the open tasks of each connection could not be counted."
          : "The number of open tasks of each connection needs the index, which is not bound (INDEX_DB)."}
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
