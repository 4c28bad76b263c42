import { queryIndex } from "../../api/search/query-index.ts";
import { allHosts } from "../../api/search/read-hosts.ts";
import { presentProblems } from "../../api/search/read-problems.ts";
import type { Config } from "../../config/config.ts";
import type { Env } from "../../env.ts";
import { listShards } from "../../index-db/list-shards.ts";
import { type Shards, shardsOf } from "../../index-db/shards.ts";
import { countOf } from "../parts/format.ts";
import { keptSeries, type Range } from "./kept-series.ts";
import { ANY_TASK } from "../../index-db/list.ts";
import type { Series } from "./series.ts";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Chip } from "../parts/chip.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { type Totals, totalsOf, Now, Past } from "./numbers.tsx";
import { FailedAttempts, Failures } from "./failures.tsx";
import { CallbacksChart, LatencyChart } from "./charts.tsx";
import { FirstTask, NoIndex, NotCounted } from "./first-steps.tsx";
import { HostsTable } from "./hosts-table.tsx";
import { Problems } from "./problems.tsx";

/** The time ranges that the overview can show, by their names in the URL. The first is the default. */
const RANGES = {
  "24h": { title: "24 h", step: "3600", steps: 25 },
  "7d": { title: "7 d", step: "86400", steps: 7 },
  "30d": { title: "30 d", step: "86400", steps: 30 },
} as const satisfies Readonly<Record<string, Range>>;
type RangeName = keyof typeof RANGES;

/** Returns the name of a time range that the URL of the page contains; `24h` when it contains none. */
export function rangeIn(name: string | null): RangeName {
  return name === "7d" || name === "30d" ? name : "24h";
}

/** Data that the front page of operators shows: present problems, counts by hour or day, and hosts. */
type Facts = Awaited<ReturnType<typeof readOperatorFacts>>;

/**
 * Reads the data of the operators' overview. Without an index these are only the present problems.
 * @param isRefresh true when the request is the refresh of an open page. A refresh does not replace the list of
 * hosts, so this list is not read.
 */
export async function readOperatorFacts(
  env: Env,
  config: Config,
  range: RangeName,
  isRefresh: boolean,
) {
  const shards = shardsOf(env, config);
  // The search for problems reads the counts of the last day, which the other queries then find in memory.
  const problems = await presentProblems(env, config);
  const [counts, hosts] = await Promise.all([
    shards === null ? null : keptSeries(env, shards, RANGES[range]),
    shards === null || isRefresh ? null : allHosts(env, shards),
  ]);
  const isCounted = counts !== null && counts.steps.some(({ tasks }) => tasks.total > 0);
  const hasTasks = isCounted || (shards !== null && (await hasAnyTask(shards)));
  return { range, problems, counts, hosts: hosts?.data ?? [], hasTasks, now: Date.now() };
}

async function hasAnyTask(shards: Shards): Promise<boolean> {
  const { tasks } = await queryIndex(() => listShards(shards, ANY_TASK, null, 1, Date.now()));
  return tasks.length > 0;
}

interface OperatorOverviewProps {
  readonly facts: Facts;
  readonly origin: string;
  readonly isSandboxOn: boolean;
}

/**
 * The front page of operators: first the present problems, then the present numbers, then the numbers of the time
 * range.
 */
export function OperatorOverview({ facts, origin, isSandboxOn }: OperatorOverviewProps) {
  const { range, problems, counts, hasTasks } = facts;
  const totals = totalsOf(counts?.steps ?? []);
  const seriesPath = seriesPathOf(counts);
  const paths = counts === null ? ["/v1/problems"] : ["/v1/problems", seriesPath, "/v1/hosts"];
  return (
    <>
      <div id="problems" data-refresh="30">
        <PageHead
          title={
            <>
              <span class="visually-hidden">Overview: </span>
              <Headline facts={facts} />
            </>
          }
          sub={<Summary facts={facts} totals={totals} />}
        >
          {hasTasks ? <RangeSwitch range={range} /> : null}
          <ApiDialog origin={origin} paths={paths} />
        </PageHead>
        <Problems problems={problems.data} />
      </div>
      {counts === null ? <NoIndex /> : null}
      {counts === null || hasTasks ? null : <FirstTask origin={origin} isSandboxOn={isSandboxOn} />}
      {counts !== null && hasTasks ? (
        <Tasks facts={facts} counts={counts} totals={totals} origin={origin} />
      ) : null}
    </>
  );
}

/** Returns the path of the API that returns the data of the charts. */
function seriesPathOf(counts: Series | null): string {
  if (counts === null) return "/v1/stats/series";
  const { since, until, step_s: step } = counts;
  return `/v1/stats/series?since=${since}&until=${until}&step=${step}`;
}

interface TasksProps {
  readonly facts: Facts;
  readonly counts: Series;
  readonly totals: Totals;
  readonly origin: string;
}

/** Section with the tasks that have work to do at present, and the numbers of the time range. */
function Tasks({ facts, counts, totals, origin }: TasksProps) {
  const { range, problems, hosts, now } = facts;
  const isCounted = counts.counted_at !== null;
  return (
    <div class="stack overview">
      <div id="now" data-refresh="30">
        <Now problems={problems} now={now} />
      </div>
      {isCounted ? (
        <>
          <Past totals={totals} counts={counts} range={RANGES[range].title} />
          <div class="columns charts">
            <CallbacksChart counts={counts} />
            <LatencyChart counts={counts} />
          </div>
        </>
      ) : (
        <NotCounted origin={origin} />
      )}
      <HostsTable hosts={hosts} now={now} />
      <Failures
        failures={totals.failures}
        since={counts.since}
        aside={`of the tasks of the last ${RANGES[range].title}`}
      />
      <FailedAttempts attempts={totals.failedAttempts} range={RANGES[range].title} />
    </div>
  );
}

function Headline({ facts: { problems } }: { readonly facts: Facts }) {
  const grave = problems.data.filter(({ severity }) => severity !== "notice");
  if (grave.length === 0) return <Chip tone="ok" icon="check" word="All quiet" />;
  const hasError = grave.some(({ severity }) => severity === "error");
  const word = countOf(grave.length, "problem");
  return <Chip tone={hasError ? "bad" : "warn"} icon={hasError ? "cross" : "warn"} word={word} />;
}

function Summary({ facts, totals }: { readonly facts: Facts; readonly totals: Totals }) {
  const { problems, range } = facts;
  const callbacks = `${countOf(totals.delivered, "callback")} delivered in ${RANGES[range].title}. `;
  return (
    <>
      {totals.delivered > 0 ? callbacks : ""}
      Looked at <Time at={problems.at * 1000} />.
    </>
  );
}

function RangeSwitch({ range }: { readonly range: RangeName }) {
  return (
    <nav class="segments" aria-label="Range">
      {Object.entries(RANGES).map(([name, { title }]) => (
        <a href={`/?range=${name}`} aria-current={name === range ? "true" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
