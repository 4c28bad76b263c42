import { type DayReport, type ModelSpend, type Spend, spentOf, sumOf } from "../../core/spend.ts";
import { DAY_MS, toSeconds } from "../../core/time.ts";
import { Bars, sumsText } from "../parts/bars.tsx";
import { amountText, countOf, countText, utcText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { NumbersTable } from "../parts/numbers-table.tsx";
import { Panel } from "../parts/page-head.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { pathWith } from "../tasks/task-parameters.ts";

interface SpendPanelProps {
  readonly spend: {
    /** All days of the window, oldest first. */
    readonly days: readonly DayReport[];
    /** The models that have cost most in the window, most first. */
    readonly models: readonly ModelSpend[];
  };
  /** Filter of the list of tasks that selects those of the account; empty for a viewer who sees no other tasks. */
  readonly ofAccount: { readonly account?: string };
}

const SPEND_KINDS = [
  { name: "spent", class: "bar-ok", tone: "tone-chart-ok" },
  { name: "given back", class: "bar-busy", tone: "tone-chart-busy" },
] as const;
const BALANCE_KINDS = [{ name: "credits", class: "bar-ok" }] as const;
/** Number of bars from one whose day is written below the axis to the next. */
const LABEL_EVERY = 6;
/** Number of days, the last one included, whose sum is shown beside that of the whole window. */
const WEEK_DAYS = 7;
/** Largest number of models that the page names. */
const SHOWN_MODELS = 10;

/** Section with what an account has spent, by day and by model, and its balance day by day. */
export function SpendPanel({ spend: { days, models }, ofAccount }: SpendPanelProps) {
  const [all, week] = [sumOf(days), sumOf(days.slice(-WEEK_DAYS))];
  if (all.charges === 0) return null;
  const bars = days.map((day, at) => barOf(day, at, [spentOf(day), givenBack(day)]));
  return (
    <>
      <Panel
        title={`Spent in ${countOf(days.length, "day")}, UTC`}
        aside={
          <span class="legend">
            {SPEND_KINDS.map(({ name, tone }) => (
              <span class={tone}>{name}</span>
            ))}
          </span>
        }
      >
        <p class="muted">
          {amountText(spentOf(all))} credits for {countOf(all.charges, "task")}, of which{" "}
          <Refunded count={all.refunds} days={days} ofAccount={ofAccount} />;{" "}
          {amountText(spentOf(week))} credits in the last {WEEK_DAYS} days. What is given back
          counts on the day of its charge. Open tasks count with their whole price.
        </p>
        <Bars
          title={`Credits by day: ${sumsText({ bars, kinds: SPEND_KINDS })}`}
          bars={bars}
          kinds={SPEND_KINDS}
        />
        <NumbersTable
          caption="Credits by day"
          title="Day (UTC)"
          titles={["Spent", "Given back", "Tasks", "Refunded", "Balance"]}
          rows={days.map(numbersOf)}
        />
      </Panel>
      <Panel title="Balance at the end of each day, UTC">
        <Bars
          title={`Balance by day: at last ${amountText(days.at(-1)?.balance ?? 0)} credits`}
          bars={days.map((day, at) => barOf(day, at, [Math.max(0, day.balance)]))}
          kinds={BALANCE_KINDS}
        />
      </Panel>
      <ModelsPanel models={models} />
    </>
  );
}

interface RefundedProps extends Pick<SpendPanelProps, "ofAccount"> {
  readonly count: number;
  readonly days: readonly DayReport[];
}

/** Number of the tasks that have failed and were refunded, with a link to the failed tasks of these days. */
function Refunded({ count, days, ofAccount }: RefundedProps) {
  const text = `${countText(count)} failed and were refunded`;
  const [first] = days;
  if (count === 0 || first === undefined) return <>{text}</>;
  const since = String(toSeconds(first.day * DAY_MS));
  const filters = { ...ofAccount, status: "failed", since };
  return <a href={pathWith("/tasks", new URLSearchParams(filters))}>{text}</a>;
}

function barOf({ day }: DayReport, at: number, parts: readonly number[]) {
  return { name: dayName(day), isLabelled: at % LABEL_EVERY === 0, parts };
}

function dayName(day: number): string {
  return utcText(day * DAY_MS).slice(0, 6);
}

function givenBack({ refunded, released }: Spend): number {
  return refunded + released;
}

function numbersOf(day: DayReport): readonly string[] {
  return [
    dayName(day.day),
    countText(spentOf(day)),
    countText(givenBack(day)),
    countText(day.charges),
    countText(day.refunds),
    amountText(day.balance),
  ];
}

function ModelsPanel({ models }: { readonly models: readonly ModelSpend[] }) {
  const shown = models.slice(0, SHOWN_MODELS);
  return (
    <Panel
      title="By model"
      aside={models.length > SHOWN_MODELS ? `the ${SHOWN_MODELS} that cost most` : undefined}
    >
      <Table
        caption="Spent by model"
        columns={MODEL_COLUMNS}
        rows={shown}
        rowId={({ model }) => `model-${shown.findIndex((each) => each.model === model)}`}
      />
    </Panel>
  );
}

const MODEL_COLUMNS: readonly Column<ModelSpend>[] = [
  {
    title: "Model",
    cell: ({ model }) => <Hostile text={model} />,
  },
  { title: "Spent", isNumber: true, cell: (spend) => countText(spentOf(spend)) },
  { title: "Given back", isNumber: true, cell: (spend) => countText(givenBack(spend)) },
  { title: "Tasks", isNumber: true, cell: ({ charges }) => countText(charges) },
  { title: "Refunded", isNumber: true, cell: ({ refunds }) => countText(refunds) },
];
