import { requestOf } from "../../api/callbacks/attempt-request.ts";
import { linkOrigin } from "../../api/http/link-origin.ts";
import { listTasks } from "../../api/search/list-tasks.ts";
import { TaskId } from "../../api/http/fields.ts";
import { hostOf } from "../../core/url.ts";
import { OUTCOMES } from "../../core/record/outcome.ts";
import { numberIn } from "../http/forms.ts";
import { html } from "../http/html-answer.ts";
import { viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Status } from "../parts/chip.tsx";
import { Empty } from "../parts/empty.tsx";
import { countOf, durationText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { Notice } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { FilterSummary } from "../tasks/task-filters.tsx";
import { pathWith, taskParameters, without } from "../tasks/task-parameters.ts";
import { AttemptPanel, type Exchange } from "./attempt-panel.tsx";
import { attemptsOf, attemptsOfTask, type ListedAttempt } from "./listed-attempts.ts";

const PATH = "/attempts";
/** Number of tasks whose attempts one page shows. Each costs a request to the object of the task. */
const PAGE_SIZE = 25;
/** Largest number of characters of a receiver's answer in a row of the list. */
const EXCERPT_CHARACTERS = 80;

/** Parameters of the page that name the attempt whose request and answer it shows. */
const CHOSEN = ["task", "attempt"] as const;

/**
 * The page that lists attempts of callbacks across tasks, with the filters of the list of tasks. The URL can name one
 * attempt, whose request is then shown beside the receiver's answer.
 */
export const attemptsPage = viewerPage("attemptsPage", PATH, "read", async (visit) => {
  const { url, viewer, env, request } = visit;
  const { searchParams: search } = url;
  const isOperator = viewer.kind === "operator";
  const asked = taskParameters(search, Date.now());
  const query = { ...Object.fromEntries(asked), limit: String(PAGE_SIZE) };
  const page = await listTasks.perform({ params: {}, query }, viewer, visit);
  const [attempts, exchange] = await Promise.all([attemptsOf(page.data, visit), exchangeIn(visit)]);
  const tasksPath = pathWith("/tasks", without(search, ...CHOSEN, "cursor"));
  return html(
    <Layout title="Attempts" frame={frameOf(visit)} section="tasks">
      <PageHead
        title="Attempts"
        sub={`The attempts of ${countOf(page.data.length, "task")}, the latest first. Tasks are taken newest first.`}
      >
        <ApiDialog origin={linkOrigin(env, request)} paths={[pathWith("/v1/tasks", asked)]} />
        <a class="button" href={tasksPath}>
          Tasks
        </a>
      </PageHead>
      <div class="stack">
        <Chosen exchange={exchange} search={search} />
        <Filters search={search} isOperator={isOperator} />
        {attempts.length === 0 ? (
          <NoAttempts hasOlder={page.next_cursor !== null} />
        ) : (
          <Table
            caption="Attempts of callbacks, the latest first"
            columns={isOperator ? [...columnsFor(search), ANSWER] : columnsFor(search)}
            rows={attempts}
            rowId={({ task, facts }) => `attempt-${task}-${facts.number}`}
          />
        )}
        {page.next_cursor === null ? null : (
          <nav class="buttons" aria-label="Pages">
            <a class="button" href={pathWith(PATH, asked, { cursor: page.next_cursor })} rel="next">
              Attempts of older tasks
            </a>
          </nav>
        )}
      </div>
    </Layout>,
  );
});

/**
 * Reads the attempt that the URL names, with its request.
 * @returns null when the URL names none, and when the viewer may not read it or it is not stored any more.
 */
async function exchangeIn(visit: ViewerVisit): Promise<Exchange | null> {
  const { url, runtime, env } = visit;
  const id = TaskId.safeParse(url.searchParams.get("task"));
  if (!id.success) return null;
  const number = numberIn(url.searchParams, "attempt");
  const attempts = await attemptsOfTask(id.data, visit);
  const attempt = attempts.find(({ facts }) => facts.number === number);
  if (attempt === undefined) return null;
  const { callback, facts } = attempt;
  return { attempt, request: await requestOf(callback, facts, null, runtime, env) };
}

interface ChosenProps {
  readonly exchange: Exchange | null;
  readonly search: URLSearchParams;
}

/** Shows the attempt that the URL names, or says that it is not there, e.g. because the link to it is old. */
function Chosen({ exchange, search }: ChosenProps) {
  if (exchange !== null) {
    const closePath = pathWith(PATH, without(search, ...CHOSEN));
    return <AttemptPanel exchange={exchange} closePath={closePath} />;
  }
  if (!search.has("task")) return null;
  return <Notice tone="warn" icon="warn" title="The attempt of this link is no longer stored." />;
}

function columnsFor(search: URLSearchParams): readonly Column<ListedAttempt>[] {
  const pathOf = ({ task, facts }: ListedAttempt) =>
    `${pathWith(PATH, search, { task, attempt: String(facts.number) })}#attempt`;
  return [
    {
      title: "Time",
      cell: (row) => (
        <a href={pathOf(row)}>
          <Time at={row.facts.startedAt} />
        </a>
      ),
    },
    {
      title: "Host",
      isCut: true,
      cell: ({ facts: { url } }) => <Hostile text={hostOf(url) ?? url} />,
    },
    { title: "Outcome", cell: ({ facts }) => <Status of={facts.outcome ?? "sending"} /> },
    { title: "Status", isNumber: true, cell: ({ shown }) => shown?.status_code ?? "–" },
    {
      title: "Took",
      isNumber: true,
      cell: ({ facts: { durationMs } }) => (durationMs === null ? "–" : durationText(durationMs)),
    },
    {
      title: "Task",
      cell: ({ task, facts: { number } }) => (
        <span class="nowrap">
          <a class="mono" href={`/tasks/${task}?attempt=${number}#seen`} title={task}>
            {task.slice(0, 8)}
          </a>{" "}
          <span class="muted">#{number}</span>
        </span>
      ),
    },
  ];
}

/** Column with the beginnings of receivers' answers, which only operators see. */
const ANSWER: Column<ListedAttempt> = {
  title: "Answer",
  isCut: true,
  isSpare: true,
  cell: ({ shown: { response_excerpt: excerpt } = {} }) =>
    excerpt === undefined ? "" : <Hostile text={excerptOf(excerpt)} />,
};

function excerptOf(text: string): string {
  return text.length <= EXCERPT_CHARACTERS ? text : `${text.slice(0, EXCERPT_CHARACTERS)}…`;
}

interface FiltersProps {
  readonly search: URLSearchParams;
  readonly isOperator: boolean;
}

/** Form with the filters of the page. They are those of the list of tasks that concern callbacks. */
function Filters({ search, isOperator }: FiltersProps) {
  const names = isOperator ? ["host", "status_code", "account"] : ["host", "status_code"];
  return (
    <details class="details">
      <FilterSummary search={search} />
      <form method="get" action={PATH} class="filters">
        {["since", "until", "range", "provider", "model"].map((name) => {
          const value = search.get(name);
          return value === null ? null : <input type="hidden" name={name} value={value} />;
        })}
        {names.map((name) => (
          <div class="field">
            <label for={`filter-${name}`}>{TITLES[name]}</label>
            <input
              id={`filter-${name}`}
              name={name}
              value={search.get(name) ?? ""}
              autocomplete="off"
              spellcheck={false}
            />
          </div>
        ))}
        <div class="field">
          <label for="filter-outcome">Outcome of the last attempt</label>
          <select id="filter-outcome" name="outcome">
            <option value="">any</option>
            {OUTCOMES.map((outcome) => (
              <option value={outcome} selected={outcome === search.get("outcome")}>
                {outcome}
              </option>
            ))}
          </select>
        </div>
        <div class="buttons">
          <button type="submit" class="button button-main">
            Filter
          </button>
          <a class="button" href={PATH}>
            Reset
          </a>
        </div>
      </form>
    </details>
  );
}

const TITLES: Readonly<Record<string, string>> = {
  host: "Host",
  status_code: "Status of the last attempt",
  account: "Account",
};

function NoAttempts({ hasOlder }: { readonly hasOlder: boolean }) {
  return (
    <Empty icon="send" title={hasOlder ? "No attempt so far" : "No attempt"}>
      <p>
        {hasOlder
          ? "The callbacks of these tasks have not been tried. Those of older tasks may have been."
          : "No callback of a task that matches has been tried, or the index does not list it yet."}
      </p>
    </Empty>
  );
}
