import { Problem } from "../../api/http/problem.ts";
import { listTasks } from "../../api/search/list-tasks.ts";
import { SECOND_MS } from "../../core/time.ts";
import { may } from "../../objects/task/caller.ts";
import { html } from "../http/html-answer.ts";
import { viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Empty } from "../parts/empty.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { Chips, FilterForm } from "./task-filters.tsx";
import { pathWith, taskParameters, without } from "./task-parameters.ts";
import { TaskTable } from "./task-table.tsx";

const PATH = "/tasks";
const PAGE_SIZE = 50;
/** Seconds after which an open list checks for newer tasks. */
const REFRESH_S = 30;

/** Parameters that have no field of their own in the form with the filters. */
const HIDDEN: readonly string[] = ["since", "until", "cursor"];

type Page = Awaited<ReturnType<typeof listTasks.perform>>;
type Listed =
  | { readonly kind: "page"; readonly page: Page }
  | { readonly kind: "invalid"; readonly issues: ReadonlyMap<string, string> };

/**
 * The page with the list of tasks. Its URL contains the filters and the cursor, under the names of the API's
 * parameters.
 */
export const tasksPage = viewerPage("tasksPage", PATH, "read", async (visit) => {
  const now = Date.now();
  const { searchParams: search } = visit.url;
  const asked = taskParameters(search, now);
  const listed = await list(asked, PAGE_SIZE, visit);
  const issues = listed.kind === "invalid" ? listed.issues : new Map<string, string>();
  return html(
    <Layout title="Tasks" frame={frameOf(visit)} section="tasks" isLive>
      <PageHead title="Tasks" sub={`Newest first. ${appearanceOf(visit)}`}>
        <ApiDialog origin={visit.url.origin} paths={[pathWith("/v1/tasks", asked)]} />
        <a class="button" href={pathWith("/attempts", without(search, "cursor"))}>
          Attempts
        </a>
      </PageHead>
      <div class="stack-s">
        <div class="list-filters">
          <Chips search={search} />
          <FilterForm
            search={search}
            issues={issues}
            isOperator={visit.viewer.kind === "operator"}
          />
        </div>
        {listed.kind === "invalid" ? (
          <p class="field-error" role="alert">
            A filter is not valid, so nothing was searched.
            {[...issues]
              .filter(([name]) => HIDDEN.includes(name))
              .map(([name, issue]) => ` ${name} ${issue}.`)}
          </p>
        ) : (
          <List page={listed.page} asked={asked} visit={visit} now={now} />
        )}
      </div>
    </Layout>,
    listed.kind === "invalid" ? 400 : 200,
  );
});

/**
 * Returns the line above an open list of tasks that says how many newer tasks there are. The list itself does not
 * change.
 */
export const newerTasks = viewerPage("newerTasks", "/tasks/newer", "read", async (visit) => {
  const { searchParams: search } = visit.url;
  const top = search.get("top") ?? "";
  const listed = await list(taskParameters(search, Date.now()), PAGE_SIZE, visit);
  const tasks = listed.kind === "page" ? listed.page.data : [];
  const at = tasks.findIndex(({ id }) => id === top);
  const count = at === -1 ? tasks.length : at;
  return html(<Newer search={without(search, "top")} top={top} count={count} />);
});

async function list(asked: URLSearchParams, limit: number, visit: ViewerVisit): Promise<Listed> {
  try {
    const query = { ...Object.fromEntries(asked), limit: String(limit) };
    return {
      kind: "page",
      page: await listTasks.perform({ params: {}, query }, visit.viewer, visit),
    };
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request") throw error;
    const issues = (error.details.issues ?? []).map(
      ({ path, message }) => [path.slice(1), message] as const,
    );
    return { kind: "invalid", issues: new Map(issues) };
  }
}

interface NewerProps {
  readonly search: URLSearchParams;
  /** Id of the task at the top of the list; empty when the list is empty. */
  readonly top: string;
  readonly count: number;
}

/** Line above a list of tasks with the number of newer tasks. It refreshes itself. */
function Newer({ search, top, count }: NewerProps) {
  const more = count === PAGE_SIZE ? `${count} or more` : String(count);
  return (
    <output
      id="newer"
      class="newer"
      data-refresh={String(REFRESH_S)}
      data-refresh-url={pathWith("/tasks/newer", search, { top })}
    >
      {count === 0 ? null : (
        <a class="button button-small" href={pathWith(PATH, search)}>
          {more} new – show
        </a>
      )}
    </output>
  );
}

interface ListProps {
  readonly page: Page;
  readonly asked: URLSearchParams;
  readonly visit: ViewerVisit;
  readonly now: number;
}

function List({ page, asked, visit, now }: ListProps) {
  const { searchParams: search } = visit.url;
  const next = page.next_cursor;
  const mayRedeliver = may(visit.viewer, "redeliver");
  const top = page.data[0]?.id ?? "";
  return (
    <>
      {asked.has("cursor") || (top === "" && asked.size > 0) ? null : (
        <Newer search={search} top={top} count={0} />
      )}
      {page.data.length === 0 ? (
        <NoTasks asked={asked} next={next} visit={visit} />
      ) : (
        <TaskTable
          tasks={page.data}
          isOperator={visit.viewer.kind === "operator"}
          redeliverPath={mayRedeliver ? pathWith("/redeliveries", without(asked, "cursor")) : null}
          now={now}
        />
      )}
      <nav class="buttons" aria-label="Pages">
        {asked.has("cursor") ? (
          <a class="button" href={pathWith(PATH, without(search, "cursor"))}>
            Newest
          </a>
        ) : null}
        {next === null || page.data.length === 0 ? null : (
          <a class="button" href={nextPath(asked, next)} rel="next">
            Older
          </a>
        )}
      </nav>
    </>
  );
}

/**
 * Returns the path of the next page of a list of tasks. It contains the filters exactly as they were sent to the API,
 * e.g. a start time instead of the range `24h`, because a cursor is valid only with the same filters.
 */
function nextPath(asked: URLSearchParams, cursor: string): string {
  return pathWith(PATH, asked, { cursor });
}

/** Says when a task appears in the list. */
function appearanceOf({ runtime: { config } }: ViewerVisit): string {
  const seconds = config.firstRowDelayMs / SECOND_MS;
  const age = seconds === 1 ? "a second" : `${seconds} seconds`;
  return `A task appears ${age} after its registration, or as soon as it ends.`;
}

interface NoTasksProps {
  readonly asked: URLSearchParams;
  readonly next: string | null;
  readonly visit: ViewerVisit;
}

/** Text that is shown instead of an empty list: how far back the search went, and whether older tasks may match. */
function NoTasks({ asked, next, visit }: NoTasksProps) {
  if (next !== null) {
    const until = Number(next.split("_")[0]);
    return (
      <Empty icon="search" title="No match so far">
        <p>
          All tasks back to <Time at={until} /> were searched. Older ones may match.
        </p>
        <a class="button button-main" href={nextPath(asked, next)}>
          Search older tasks
        </a>
      </Empty>
    );
  }
  if (asked.size === 0) {
    return (
      <Empty icon="tasks" title="No task yet">
        <p>{appearanceOf(visit)}</p>
        <a class="button" href="/docs#registerTask">
          How a task is registered
        </a>
      </Empty>
    );
  }
  return (
    <Empty icon="search" title="No task matches these filters">
      <p>All tasks were searched, back to the oldest that the index has.</p>
      <a class="button" href={PATH}>
        Show all tasks
      </a>
    </Empty>
  );
}
