import { MAX_NEWEST_TASKS, readNewestAccountStats } from "../../api/accounts/account-stats.ts";
import { readAccount } from "../../api/accounts/accounts.ts";
import { linkOrigin } from "../../api/http/link-origin.ts";
import { Problem } from "../../api/http/problem.ts";
import { countRequest } from "../../api/http/rate-limit.ts";
import { listTasks, type TaskSummary } from "../../api/search/list-tasks.ts";
import { taskIn } from "../../api/tasks/task-json.ts";
import { readWhen } from "../../api/tasks/task-watch.ts";
import { DAY_MS, SECOND_MS, toSeconds } from "../../core/time.ts";
import type { ViewerVisit } from "../http/page.ts";
import { isRefresh, shownBefore } from "../http/refresh-request.ts";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Status } from "../parts/chip.tsx";
import { Empty } from "../parts/empty.tsx";
import { countText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { Stat } from "../parts/stat.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { watchedBy } from "../task/task-data.ts";
import { Failures } from "./failures.tsx";
import { NoIndex } from "./first-steps.tsx";

const WINDOW_MS = 7 * DAY_MS;
const SHOWN = 10;
/** Seconds between two refreshes of the overview of an account that has no open task. */
const REFRESH_S = 30;
/**
 * Pause in seconds before the next refresh of an overview that shows an open task. The relay delays the response to
 * such a refresh until the task changes, at most 25 seconds.
 */
const WATCHED_REFRESH_S = 5;

/** Returns the overview of an account. For a refresh of the open page, returns only the parts that are replaced. */
export async function accountOverview(visit: ViewerVisit, account: string) {
  const { request, env, viewer } = visit;
  await countRequest("LIMIT_LISTS", viewer, env);
  const held = await awaitWatchedTask(visit);
  // The page has been counted as one request.
  const counted = { ...visit, counted: "LIMIT_LISTS" } as const;
  const facts = await readAccountFacts(counted, account);
  const watched = await newestOpenTask(facts.tasks ?? [], held, visit);
  return (
    <AccountOverview
      facts={facts}
      watched={watched}
      account={account}
      origin={linkOrigin(env, request)}
    />
  );
}

type Facts = Awaited<ReturnType<typeof readAccountFacts>>;

/**
 * Reads the data of an account's overview. Without an index this is only the balance. For a refresh of the open page
 * the counts are not read, because it replaces only the list of tasks.
 */
async function readAccountFacts(visit: ViewerVisit, account: string) {
  const { request, viewer } = visit;
  const { isIndexed } = visit.runtime.config;
  const since = String(toSeconds(Date.now() - WINDOW_MS));
  const given = { params: { account } };
  const newest = { params: {}, query: { limit: String(SHOWN) } };
  const [{ balance }, counts, page] = await Promise.all([
    readAccount.perform(given, viewer, visit),
    isIndexed && !isRefresh(request)
      ? readNewestAccountStats.perform({ ...given, query: { since } }, viewer, visit)
      : null,
    isIndexed ? listTasks.perform(newest, viewer, visit) : null,
  ]);
  return { balance, counts, tasks: page?.data ?? null };
}

interface AccountOverviewProps {
  readonly facts: Facts;
  /** The newest open task of the account, whose changes the page shows without delay; null when there is none. */
  readonly watched: WatchedTask | null;
  readonly account: string;
  readonly origin: string;
}

/**
 * The front page of an account: the balance, the callbacks of its tasks by status, its failed tasks by category, and
 * its last tasks.
 */
function AccountOverview({ facts, watched, account, origin }: AccountOverviewProps) {
  const { balance, counts, tasks } = facts;
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
          {counts === null ? null : <CallbackNumbers counts={counts} />}
        </div>
        {counts === null ? null : <OwnFailures counts={counts} />}
        {tasks === null ? null : (
          <div
            id="account"
            data-refresh={String(watched === null ? REFRESH_S : WATCHED_REFRESH_S)}
            {...(watched !== null && { "data-version": `${watched.id}.${watched.version}` })}
          >
            <LastTasks tasks={tasks.map((task) => withState(task, watched))} />
          </div>
        )}
      </div>
    </>
  );
}

/**
 * Returns a task of the list. If it is the watched task, its state is replaced by the one that its Durable Object has
 * just reported, because the index may not have this state yet.
 */
function withState(task: TaskSummary, watched: WatchedTask | null): LastTask {
  if (task.id !== watched?.id) return task;
  const { status, callback } = watched;
  return {
    ...task,
    status,
    callback: callback === null ? null : { ...task.callback, status: callback },
  };
}

interface CountsProps {
  readonly counts: NonNullable<Facts["counts"]>;
}

function CallbackNumbers({ counts: { callbacks, is_capped: isCapped, since } }: CountsProps) {
  const { delivered, failed, sending, retrying, paused } = callbacks;
  const open = sending + retrying + paused;
  const of7Days = `since=${since}`;
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
      <Stat value={countText(open)} label="being sent" href="/tasks?callback=open" />
    </>
  );
}

function OwnFailures({ counts: { tasks, is_capped: isCapped, since } }: CountsProps) {
  const counted = isCapped
    ? `of your ${countText(MAX_NEWEST_TASKS)} newest tasks`
    : "of your tasks of the last 7 days";
  return <Failures failures={tasks.failures} since={since} aside={counted} />;
}

/**
 * State of the open task whose changes an account's overview shows without delay. It comes from the task's Durable
 * Object, because the index may not have it yet.
 */
interface WatchedTask {
  readonly id: string;
  readonly status: string;
  /** Status of the task's callback; null when the task has no callback. */
  readonly callback: string | null;
  readonly version: number;
}

/** Longest time in milliseconds that the response to a refresh is delayed until the watched task changes. */
const LONGEST_HOLD_MS = 25 * SECOND_MS;
/** Pattern of what a refresh states about the watched task: the task's id and the version that the page shows. */
const SHOWN_STATE = /^([0-9a-f-]{36})\.(\d{1,15})$/;

/**
 * Delays the response to a refresh of the overview until the watched task differs from what the page shows, at most 25
 * seconds. A browser that hides the page ends the request. Each page watches only one task, because watching costs
 * requests to the task's Durable Object.
 * @returns the task; null when the page watches none, the viewer may no longer read it, or its object cannot be
 * reached.
 */
async function awaitWatchedTask(visit: ViewerVisit): Promise<WatchedTask | null> {
  const [, id = "", version] = SHOWN_STATE.exec(shownBefore(visit.request) ?? "") ?? [];
  return id === "" ? null : readWatched(visit, id, Number(version), LONGEST_HOLD_MS);
}

/**
 * Returns the task that the overview watches: the newest task of the list that has no result yet.
 * @param held task that was already read for this response; null when none was.
 * @returns null when there is no such task, or its Durable Object cannot be reached.
 */
async function newestOpenTask(
  tasks: readonly TaskSummary[],
  held: WatchedTask | null,
  visit: ViewerVisit,
): Promise<WatchedTask | null> {
  const open = tasks.find(({ status }) => status === "pending" || status === "processing");
  if (open === undefined || open.id === held?.id) return open === undefined ? null : held;
  return readWatched(visit, open.id, null, 0);
}

/**
 * Turns the error of a Durable Object that cannot be reached into null, because the page can then show the state from
 * the index.
 * @throws the error itself when it has any other cause.
 */
function orNull(error: unknown): null {
  if (error instanceof Problem && error.code === "unavailable") return null;
  throw error;
}

async function readWatched(
  visit: ViewerVisit,
  id: string,
  known: number | null,
  waitMs: number,
): Promise<WatchedTask | null> {
  const isNews = ({ task }: { readonly task: { readonly version: number } }) =>
    task.version !== known;
  // The overview shows no progress, as little as a status link does.
  const found = await readWhen(watchedBy(visit, id, "link"), isNews, waitMs).catch(orNull);
  if (found === null) return null;
  const { status, callback } = taskIn(found.task);
  return { id, status, callback: callback?.status ?? null, version: found.task.version };
}

/** A row of the list of the last tasks: the task, and the status of its callback. */
interface LastTask extends Pick<TaskSummary, "id" | "model" | "created_at"> {
  readonly status: string;
  readonly callback: { readonly status: string; readonly last_status_code?: number } | null;
}

const COLUMNS: readonly Column<LastTask>[] = [
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
    cell: ({ callback }) =>
      callback === null ? (
        "none"
      ) : (
        <>
          <Status of={callback.status} />
          {callback.status === "failed" && callback.last_status_code !== undefined ? (
            <span class="muted"> {callback.last_status_code}</span>
          ) : null}
        </>
      ),
  },
  { title: "Model", cell: ({ model }) => <Hostile text={model} /> },
  { title: "Created", cell: ({ created_at: at }) => <Time at={at * SECOND_MS} /> },
];

interface LastTasksProps {
  readonly tasks: readonly LastTask[];
}

/** The last tasks of an account or, when there are none yet, a text on how the first ones will appear. */
function LastTasks({ tasks }: LastTasksProps) {
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
  return (
    <Panel title="Last tasks" aside={<a href="/tasks">All tasks</a>}>
      <Table
        caption="The last tasks of this account"
        columns={COLUMNS}
        rows={tasks}
        rowId={({ id }) => `task-${id}`}
      />
    </Panel>
  );
}
