import { accountCounts } from "../../../index-db/account-stats.ts";
import { callLedger } from "../../../api/accounts/account-client.ts";
import { callbacksView } from "../../../api/search/count-views.ts";
import { queryIndex } from "../../../api/search/query-index.ts";
import { DAY_MS } from "../../../core/time.ts";
import type { Env } from "../../../env.ts";
import type { ListedTask } from "../../../index-db/list.ts";
import { listShards } from "../../../index-db/list-shards.ts";
import type { Shards } from "../../../index-db/shards.ts";
import { countText } from "../../format.ts";
import { ANY_TASK } from "../../overview.ts";
import { ApiDialog } from "../../parts/api-dialog.tsx";
import { Status } from "../../parts/chip.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Hostile } from "../../parts/hostile.tsx";
import { Icon } from "../../parts/icon.tsx";
import { PageHead, Panel } from "../../parts/page-head.tsx";
import { Stat } from "../../parts/stat.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago, Time } from "../../parts/time.tsx";
import { NoIndex } from "./no-index.tsx";

const WINDOW_MS = 7 * DAY_MS;
const MAX_TASKS = 10_000;
const SHOWN = 10;

type Facts = Awaited<ReturnType<typeof readAccountFacts>>;

/** Reads what the overview of an account shows; without an index that is only its balance. */
export async function readAccountFacts(env: Env, shards: Shards | null, account: string) {
  const now = Date.now();
  const since = now - WINDOW_MS;
  const [{ balance }, found] = await Promise.all([
    callLedger(env, account, (object) => object.describe()),
    shards === null
      ? null
      : queryIndex(() =>
          Promise.all([
            accountCounts(shards, account, { since, until: now + 1 }, MAX_TASKS),
            listShards(shards, { ...ANY_TASK, account }, null, SHOWN, now),
          ]),
        ),
  ]);
  if (found === null) return { balance, since, now, recent: null };
  const [{ counts, isCapped }, { tasks }] = found;
  return { balance, since, now, recent: { callbacks: callbacksView(counts), isCapped, tasks } };
}

interface AccountOverviewProps {
  readonly facts: Facts;
  readonly account: string;
  readonly origin: string;
}

/** The front page of an account: its balance, its callbacks by status, and its last tasks. */
export function AccountOverview({ facts, account, origin }: AccountOverviewProps) {
  const { balance, recent, since, now } = facts;
  const path = `/v1/accounts/${account}`;
  const of7Days = `since=${Math.floor(since / 1000)}`;
  return (
    <>
      <PageHead title={account} sub="Your tasks and their callbacks">
        <ApiDialog origin={origin} paths={[path, `${path}/stats`, `/v1/tasks?limit=${SHOWN}`]} />
      </PageHead>
      {recent === null ? <NoIndex /> : null}
      <div class="stack overview" id="account" data-refresh="30">
        <div class="stats">
          <Stat value={countText(balance)} label="credits" href={`/accounts/${account}`} />
          {recent === null ? null : (
            <>
              <Stat
                value={`${countText(recent.callbacks.delivered)}${recent.isCapped ? "+" : ""}`}
                label="delivered in 7 days"
                href={`/tasks?callback=delivered&${of7Days}`}
              />
              <Stat
                value={countText(recent.callbacks.failed)}
                label="failed in 7 days"
                href={`/tasks?callback=failed&${of7Days}`}
              />
              <Stat
                value={countText(recent.callbacks.sending)}
                label="being sent"
                href="/tasks?callback=sending"
              />
            </>
          )}
        </div>
        {recent === null ? null : <LastTasks tasks={recent.tasks} now={now} />}
      </div>
    </>
  );
}

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

function LastTasks({
  tasks,
  now,
}: {
  readonly tasks: readonly ListedTask[];
  readonly now: number;
}) {
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
