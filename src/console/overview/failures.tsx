import { likelyCauseOf } from "../host/host-causes.ts";
import { Status } from "../parts/chip.tsx";
import { countText } from "../parts/format.ts";
import { Panel } from "../parts/page-head.tsx";
import { type Column, Table } from "../parts/table.tsx";

const SHOWN = 5;

/** Meaning of each failure category, as text for readers of the console. */
const MEANINGS: Readonly<Record<string, string>> = {
  moderation: "The provider's content policy stopped the job.",
  invalid_input: "The provider refused the input or the parameters.",
  rate_limited: "The provider refused the job because there were too many.",
  timeout: "There was no result before the deadline.",
  canceled: "The job was canceled, here or at the provider.",
  provider: "The provider failed, or could not return a result.",
  unknown: "The failure was reported without a category.",
};

/** The name of an outcome or of a failure category, with how often it has occurred. */
type CountOf = readonly [name: string, count: number];

interface FailuresProps {
  /** Number of failed tasks in each failure category. */
  readonly failures: Readonly<Record<string, number>>;
  /** Start of the period in which the tasks were created, in Unix seconds. */
  readonly since: number;
  /** Text that says which tasks are counted. */
  readonly aside: string;
}

/** The most frequent failure categories. Each is a link to the list of the tasks that failed for this reason. */
export function Failures({ failures, since, aside }: FailuresProps) {
  const rows = mostFirst(failures);
  if (rows.length === 0) return null;
  const columns: readonly Column<CountOf>[] = [
    {
      title: "Failure",
      cell: ([category]) => <a href={`/tasks?category=${category}&since=${since}`}>{category}</a>,
    },
    { title: "Tasks", isNumber: true, cell: ([, tasks]) => countText(tasks) },
    { title: "Meaning", cell: ([category]) => MEANINGS[category] ?? "" },
  ];
  return (
    <Panel title="Failures by category" aside={aside}>
      <Table
        caption="Failed tasks by category of the failure"
        columns={columns}
        rows={rows.slice(0, SHOWN)}
        rowId={([category]) => `failure-${category}`}
      />
    </Panel>
  );
}

interface FailedAttemptsProps {
  /** Number of attempts with each outcome, including delivered ones. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Start of the time range, in Unix seconds. */
  readonly since: number;
  /** Name of the time range, e.g. `24 h`. */
  readonly range: string;
}

/** The number of failed attempts with each outcome in a time range, with the likely cause of that outcome. */
export function FailedAttempts({ outcomes, since, range }: FailedAttemptsProps) {
  const { delivered: _, ...failed } = outcomes;
  const rows = mostFirst(failed);
  if (rows.length === 0) return null;
  return (
    <Panel
      title="Failed attempts by outcome"
      aside={
        <>
          of the tasks of the last {range}, <a href={`/attempts?since=${since}`}>all attempts</a>
        </>
      }
    >
      <Table
        caption="Failed attempts by outcome"
        columns={COLUMNS}
        rows={rows}
        rowId={([outcome]) => `outcome-${outcome}`}
      />
    </Panel>
  );
}

const COLUMNS: readonly Column<CountOf>[] = [
  { title: "Outcome", cell: ([outcome]) => <Status of={outcome} /> },
  { title: "Attempts", isNumber: true, cell: ([, attempts]) => countText(attempts) },
  {
    title: "Likely cause",
    cell: ([outcome]) => likelyCauseOf({ outcome, status_code: null }).text,
  },
];

/** Returns outcomes or failure categories with their numbers, the largest number first. */
function mostFirst(counts: Readonly<Record<string, number>>): readonly CountOf[] {
  return Object.entries(counts).toSorted(([, a], [, b]) => b - a);
}
