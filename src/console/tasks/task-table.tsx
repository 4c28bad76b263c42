import type { TaskSummary } from "../../api/search/list-tasks.ts";
import { Status } from "../parts/chip.tsx";
import { Copy } from "../parts/copy.tsx";
import { Hostile } from "../parts/hostile.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";

/** Number of characters of a task's id that a list shows. */
const SHORT_ID = 8;

interface TaskTableProps {
  readonly tasks: readonly TaskSummary[];
  /**
   * Path of the page that redelivers the callbacks of all tasks that match the filters. Null when the viewer may not
   * redeliver callbacks.
   */
  readonly redeliverPath: string | null;
  readonly now: number;
}

/** One page of the list of tasks. Viewers who may redeliver callbacks can select tasks in it. */
export function TaskTable({ tasks, redeliverPath, now }: TaskTableProps) {
  const table = (
    <Table
      caption="Tasks"
      columns={columns(now, redeliverPath !== null)}
      rows={tasks}
      rowId={({ id }) => `task-${id}`}
    />
  );
  if (redeliverPath === null) return table;
  return (
    <form method="post" action="/redeliveries/selected" class="stack-s" data-selection="">
      <input type="hidden" name="run" value={crypto.randomUUID()} />
      <div class="buttons selection">
        <button type="submit" class="button" data-selected="" disabled>
          <span>
            Send <span data-selected-count="">the selected</span> again
          </span>
        </button>
        <a class="button" href={redeliverPath} data-key="r" data-dialog="">
          Send all that match again…
        </a>
        <label class="select-all small needs-script">
          <input type="checkbox" data-select-all="" /> Select all shown
        </label>
        <span class="muted small" data-selected-text="" />
      </div>
      {table}
    </form>
  );
}

function columns(now: number, isSelectable: boolean): readonly Column<TaskSummary>[] {
  const task: Column<TaskSummary> = {
    title: "Task",
    cell: ({ id }) => (
      <span class="task-name">
        {isSelectable ? (
          <input type="checkbox" name="id" value={id} aria-label={`Select task ${id}`} />
        ) : null}
        <a class="mono" href={`/tasks/${id}`} title={id}>
          {id.slice(0, SHORT_ID)}
        </a>
        <Copy text={id} what="the id" />
      </span>
    ),
  };
  return [
    task,
    { title: "Status", cell: (shown) => <StatusCell task={shown} /> },
    { title: "Callback", cell: ({ callback }) => <CallbackCell callback={callback} /> },
    ...NAMES,
    { title: "Created", cell: ({ created_at: at }) => <Time at={at * 1000} /> },
    {
      title: "Age",
      isNumber: true,
      isSpare: true,
      cell: ({ created_at: at }) => <Ago at={at * 1000} now={now} />,
    },
  ];
}

/** Columns with names that somebody outside the relay has chosen and that may have any length. */
const NAMES: readonly Column<TaskSummary>[] = [
  {
    title: "Host",
    isCut: true,
    cell: ({ callback }) => (callback?.host == null ? "" : <HostLink host={callback.host} />),
  },
  {
    title: "Model",
    isCut: true,
    cell: ({ model }) => (
      <span title={model}>
        <Hostile text={model} />
      </span>
    ),
  },
  {
    title: "Account",
    isCut: true,
    isSpare: true,
    cell: ({ account }) =>
      account === undefined ? (
        ""
      ) : (
        <a href={`/accounts/${account}`} title={account}>
          {account}
        </a>
      ),
  },
];

/**
 * Table cell with the status of a task. While it is unknown whether the submission has started a job, the submission's
 * state follows.
 */
function StatusCell({ task: { status, submission } }: { readonly task: TaskSummary }) {
  const state = submission?.state ?? "accepted";
  return (
    <span class="state">
      <Status of={status} />{" "}
      {state === "accepted" ? null : <strong class="small nowrap">submission {state}</strong>}
    </span>
  );
}

function HostLink({ host }: { readonly host: string }) {
  return (
    <a href={`/hosts/${encodeURIComponent(host)}`} title={host}>
      {host}
    </a>
  );
}

/** Table cell with the status of a callback. When the last attempt has failed, its status code or outcome follows. */
function CallbackCell({ callback }: Pick<TaskSummary, "callback">) {
  if (callback === null) return <span class="muted">none</span>;
  const { status, attempts, last_outcome: outcome, last_status_code: code } = callback;
  const fault = outcome === undefined || outcome === "delivered" ? null : (code ?? outcome);
  return (
    <span class="state">
      <Status of={status} /> {fault === null ? null : <strong class="nowrap">{fault}</strong>}{" "}
      {attempts === 0 || (attempts === 1 && fault === null) ? null : (
        <span class="muted small nowrap">
          {attempts} {attempts === 1 ? "attempt" : "attempts"}
        </span>
      )}
    </span>
  );
}
