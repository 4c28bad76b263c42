import { type AccountCounts, accountCounts } from "../../index-db/account-counts.ts";
import { callLedger } from "../../api/accounts/account-client.ts";
import { callbacksView, tasksView } from "../../api/search/count-views.ts";
import { queryIndex } from "../../api/search/query-index.ts";
import { DAY_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { listShards } from "../../index-db/list-shards.ts";
import { ANY_TASK, type ListedTask } from "../../index-db/list.ts";
import type { Shards } from "../../index-db/shards.ts";
import { countText } from "../parts/format.ts";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Stat } from "../parts/stat.tsx";
import { mostFirst } from "./range-totals.ts";
import { Failures } from "./failures.tsx";
import { LastTasks } from "./last-tasks.tsx";
import { NoIndex } from "./no-index.tsx";
import type { WatchedTask } from "./watched-task.ts";

const WINDOW_MS = 7 * DAY_MS;
/** Largest number of an account's newest tasks that are counted. D1 bills up to three rows for each. */
const MAX_TASKS = 2_000;
const SHOWN = 10;
/** Seconds between two refreshes of a page without an open task. */
const REFRESH_S = 30;
/** Pause in seconds before a refresh that is answered only when the watched task changes, or after 25 seconds. */
const WATCHED_REFRESH_S = 5;

type Facts = Awaited<ReturnType<typeof readAccountFacts>>;

/**
 * Reads the data of the overview of an account. Without an index this is only its balance.
 * @param isRefresh true when the request is the refresh of an open page. A refresh replaces only the list of tasks,
 * so the counts are not read.
 */
export async function readAccountFacts(
  env: Env,
  shards: Shards | null,
  account: string,
  isRefresh: boolean,
) {
  const now = Date.now();
  const since = now - WINDOW_MS;
  const [{ balance }, found] = await Promise.all([
    callLedger(env, account, (object) => object.describe()),
    shards === null
      ? null
      : queryIndex(() =>
          Promise.all([
            isRefresh ? null : accountCounts(shards, account, { since, until: now + 1 }, MAX_TASKS),
            listShards(shards, { ...ANY_TASK, account }, null, SHOWN, now),
          ]),
        ),
  ]);
  const [counts = null, page = null] = found ?? [];
  return { balance, since, now, counts, tasks: page?.tasks ?? null };
}

interface AccountOverviewProps {
  readonly facts: Facts;
  /** The newest open task, whose changes the page shows at once; null for none. */
  readonly watched: WatchedTask | null;
  readonly account: string;
  readonly origin: string;
}

/**
 * The front page of an account: its balance, the callbacks of its tasks by status, its failed tasks by category,
 * and its last tasks.
 */
export function AccountOverview({ facts, watched, account, origin }: AccountOverviewProps) {
  const { balance, counts, tasks, since, now } = facts;
  const path = `/v1/accounts/${account}`;
  return (
    <>
      <PageHead title={account} sub="Your tasks and their callbacks">
        <ApiDialog origin={origin} paths={[path, `${path}/stats`, `/v1/tasks?limit=${SHOWN}`]} />
      </PageHead>
      {tasks === null ? <NoIndex /> : null}
      <div class="stack overview">
        <div class="stats">
          <Stat value={countText(balance)} label="credits" href={`/accounts/${account}`} />
          {counts === null ? null : <CallbackNumbers counts={counts} since={since} />}
        </div>
        {counts === null ? null : <OwnFailures counts={counts} since={since} />}
        {tasks === null ? null : (
          <div
            id="account"
            data-refresh={String(watched === null ? REFRESH_S : WATCHED_REFRESH_S)}
            {...(watched !== null && { "data-version": `${watched.id}.${watched.version}` })}
          >
            <LastTasks tasks={tasks.map((task) => withState(task, watched))} now={now} />
          </div>
        )}
      </div>
    </>
  );
}

/** Returns a listed task with the state that its object has just shown, which the index may not have yet. */
function withState(task: ListedTask, watched: WatchedTask | null): ListedTask {
  if (task.id !== watched?.id) return task;
  const { status, callback } = watched;
  return { ...task, status, callback };
}

interface CountsProps {
  readonly counts: AccountCounts;
  /** Start of the period in which the counted tasks were created, in Unix milliseconds. */
  readonly since: number;
}

function CallbackNumbers({ counts: { counts, isCapped }, since }: CountsProps) {
  const { delivered, failed, sending } = callbacksView(counts);
  const of7Days = `since=${Math.floor(since / 1000)}`;
  return (
    <>
      <Stat
        value={`${countText(delivered)}${isCapped ? "+" : ""}`}
        label="delivered in 7 days"
        href={`/tasks?callback=delivered&${of7Days}`}
      />
      <Stat
        value={`${countText(failed)}${isCapped ? "+" : ""}`}
        label="failed in 7 days"
        href={`/tasks?callback=failed&${of7Days}`}
      />
      <Stat value={countText(sending)} label="being sent" href="/tasks?callback=sending" />
    </>
  );
}

function OwnFailures({ counts: { counts, isCapped }, since }: CountsProps) {
  const tasks = isCapped
    ? `of your ${countText(MAX_TASKS)} newest tasks`
    : "of your tasks of the last 7 days";
  return (
    <Failures
      failures={mostFirst([tasksView(counts, counts).failures])}
      since={Math.floor(since / 1000)}
      aside={tasks}
    />
  );
}
