import type { ListedTask } from "../../index-db/list.ts";
import { Status } from "../parts/chip.tsx";
import { Empty } from "../parts/empty.tsx";
import { Hostile } from "../parts/hostile.tsx";
import { Icon } from "../parts/icon.tsx";
import { Panel } from "../parts/page-head.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";

const COLUMNS: readonly Column<ListedTask>[] = [
  {
    title: "Task",
    cell: ({ id }) => (
      <a href={`/tasks/${id}`}>
        <code>{id.slice(0, 8)}</code>
      </a>
    ),
  },
  { title: "Status", cell: ({ status }) => <Status of={status} /> },
  {
    title: "Callback",
    cell: ({ callback, lastStatusCode: code }) =>
      callback === null ? (
        "none"
      ) : (
        <>
          <Status of={callback} />
          {callback === "failed" && code !== null ? <span class="muted"> {code}</span> : null}
        </>
      ),
  },
  { title: "Model", cell: ({ model }) => <Hostile text={model} /> },
  { title: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

function ageOf(now: number) {
  return ({ createdAt }: ListedTask) => <Ago at={createdAt} now={now} />;
}

interface LastTasksProps {
  readonly tasks: readonly ListedTask[];
  readonly now: number;
}

/** The last tasks of an account. When there are none yet, says how the first ones will appear. */
export function LastTasks({ tasks, now }: LastTasksProps) {
  if (tasks.length === 0) {
    return (
      <Empty icon="tasks" title="No tasks yet">
        <p>Tasks appear here as soon as your provider registers one for this account.</p>
        <a class="button" href="/docs#callbacks">
          <Icon name="book" />
          How callbacks arrive
        </a>
      </Empty>
    );
  }
  const columns = [...COLUMNS, { title: "Age", isNumber: true, cell: ageOf(now) }];
  return (
    <Panel title="Last tasks" aside={<a href="/tasks">All tasks</a>}>
      <Table
        caption="The last tasks of this account"
        columns={columns}
        rows={tasks}
        rowId={({ id }) => `task-${id}`}
      />
    </Panel>
  );
}
