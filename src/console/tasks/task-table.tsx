import type { TaskSummary } from "../../api/search/list-tasks.ts";
import { SECOND_MS } from "../../core/time.ts";
import { Status } from "../parts/chip.tsx";
import { Copy } from "../parts/copy.tsx";
import { countText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Duration, fullBarS } from "./duration.tsx";

/** Number of characters of a task's id that a list shows. */
const SHORT_ID = 8;

interface TaskTableProps {
  readonly tasks: readonly TaskSummary[];
  /** True when the viewer is an operator, who sees the accounts and providers of tasks. */
  readonly isOperator: boolean;
  /**
   * Path of the page that redelivers the callbacks of all tasks that match the filters. Null when the viewer may not
   * redeliver callbacks.
   */
  readonly redeliverPath: string | null;
  readonly now: number;
}

/** One page of the list of tasks. Viewers who may redeliver callbacks can select tasks in it. */
export function TaskTable({ tasks, isOperator, redeliverPath, now }: TaskTableProps) {
  const table = (
    <Table
      caption="Tasks"
      class="tasks"
      columns={[
        taskColumn(redeliverPath !== null),
        ...STATES,
        MODEL,
        ...(isOperator ? OPERATOR_COLUMNS : []),
        HOST,
        durationColumn(tasks, now),
        ...FIGURES,
      ]}
      rows={tasks}
      rowId={({ id }) => `task-${id}`}
    />
  );
  if (redeliverPath === null) return table;
  return (
    <form method="post" action="/redeliveries/selected" data-selection="">
      <input type="hidden" name="run" value={crypto.randomUUID()} />
      {table}
      <div class="buttons selection">
        <label class="select-all small needs-script">
          <input type="checkbox" data-select-all="" /> Select all shown
        </label>
        <button type="submit" class="button" data-selected="" disabled>
          <span>
            Send <span data-selected-count="">the selected</span> again
          </span>
        </button>
        <a class="button" href={redeliverPath} data-key="r" data-dialog="">
          Send all that match again…
        </a>
        <span class="muted small" data-selected-text="" />
      </div>
    </form>
  );
}

function taskColumn(isSelectable: boolean): Column<TaskSummary> {
  return {
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
}

const STATES: readonly Column<TaskSummary>[] = [
  { title: "Status", class: "task-status", cell: (task) => <StatusCell task={task} /> },
  { title: "Callback", cell: ({ callback }) => <CallbackCell callback={callback} /> },
];

const MODEL: Column<TaskSummary> = {
  title: "Model",
  class: "task-model",
  cell: ({ model }) => <Hostile text={model} />,
};

const OPERATOR_COLUMNS: readonly Column<TaskSummary>[] = [
  {
    title: "Provider",
    class: "task-named",
    isSpare: true,
    cell: ({ provider = "" }) => provider,
  },
  {
    title: "Account",
    class: "task-named",
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

const HOST: Column<TaskSummary> = {
  title: "Host",
  class: "task-host task-named",
  isCut: true,
  cell: ({ callback }) => (callback?.host == null ? "" : <HostLink host={callback.host} />),
};

function durationColumn(tasks: readonly TaskSummary[], now: number): Column<TaskSummary> {
  const nowS = Math.floor(now / SECOND_MS);
  const fullS = fullBarS(tasks, nowS);
  return {
    title: "Duration",
    class: "task-duration task-named",
    isNumber: true,
    cell: (task) => <Duration task={task} fullS={fullS} nowS={nowS} />,
  };
}

const FIGURES: readonly Column<TaskSummary>[] = [
  {
    title: "Credits",
    class: "task-named",
    isNumber: true,
    isSpare: true,
    cell: ({ credits }) => (credits === undefined ? "" : <Cost credits={credits} />),
  },
  {
    title: "Created",
    class: "task-created",
    cell: ({ created_at: at }) => <Time at={at * SECOND_MS} />,
  },
];

/** Credits that a task costs as it stands. What was charged and given back is in the attribute `title`. */
function Cost({ credits }: { readonly credits: NonNullable<TaskSummary["credits"]> }) {
  const { amount, final = amount, state } = credits;
  const isReturned = state === "refunding" || state === "refunded";
  const costs = isReturned ? 0 : final;
  return <span title={`${countText(amount)} ${state}`}>{countText(costs)}</span>;
}

/**
 * Table cell with the status of a task. The state of its submission follows until the upstream has accepted the job, in
 * few words, so that the other columns have room.
 */
function StatusCell({ task: { status, submission } }: { readonly task: TaskSummary }) {
  const state = submission?.state ?? "accepted";
  return (
    <span class="state">
      <Status of={status} />{" "}
      {state === "accepted" ? null : (
        <strong class="small nowrap" title={`submission ${state}`}>
          {state === "unknown" ? "outcome unknown" : state}
        </strong>
      )}
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
        <span class="muted small" title={attempts === 1 ? "1 attempt" : `${attempts} attempts`}>
          ×{attempts}
        </span>
      )}
    </span>
  );
}
