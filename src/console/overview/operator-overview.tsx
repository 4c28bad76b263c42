import { linkOrigin } from "../../api/http/link-origin.ts";
import { listTasks } from "../../api/search/list-tasks.ts";
import {
  type RangeName,
  type RangeSeries,
  readRangeSeries,
} from "../../api/search/range-series.ts";
import { listHosts } from "../../api/search/read-hosts.ts";
import { readPresentProblems } from "../../api/search/read-problems.ts";
import { upstreamsOf } from "../../api/search/upstreams.ts";
import type { ViewerVisit } from "../http/page.ts";
import { isRefresh } from "../http/refresh-request.ts";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Chip } from "../parts/chip.tsx";
import { countOf } from "../parts/format.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { CallbacksChart, LatencyChart } from "./charts.tsx";
import { FailedAttempts, Failures } from "./failures.tsx";
import { FirstTask, NoIndex, NotCounted } from "./first-steps.tsx";
import { headlineOf } from "./headline.ts";
import { HostsTable, SHOWN_HOSTS } from "./hosts-table.tsx";
import { Now, Past } from "./numbers.tsx";
import { type PresentProblem, Problems } from "./problems.tsx";
import { UpstreamsPanel } from "./upstreams-panel.tsx";

/**
 * Returns the overview of operators for the time range that the URL names. For a refresh of the open page, returns only
 * the parts that are replaced.
 */
export async function operatorOverview(visit: ViewerVisit) {
  const { request, env, runtime, url } = visit;
  const range = rangeIn(url.searchParams.get("range"));
  const facts = await readOperatorFacts(visit, range);
  const { isSandboxOn } = runtime.config;
  return (
    <OperatorOverview facts={facts} origin={linkOrigin(env, request)} isSandboxOn={isSandboxOn} />
  );
}

/** The time ranges that the overview can show, by their names in the URL, with their titles. */
const RANGES: Readonly<Record<RangeName, string>> = { "24h": "24 h", "7d": "7 d", "30d": "30 d" };

/** Returns the name of the time range in the URL of the page; `24h` when the URL has none. */
function rangeIn(name: string | null): RangeName {
  return name === "7d" || name === "30d" ? name : "24h";
}

/** Data of the operators' front page: present problems, counts by hour or day, and hosts. */
type Facts = Awaited<ReturnType<typeof readOperatorFacts>>;

/**
 * Reads the data of the operators' overview. Without an index this is only the present problems. For a refresh of the
 * open page the list of hosts is not read, because it is not replaced.
 */
async function readOperatorFacts(visit: ViewerVisit, range: RangeName) {
  const { request, viewer } = visit;
  const { isIndexed } = visit.runtime.config;
  // The search for problems reads the counts of the last day, which the other queries then find in memory.
  const problems = await readPresentProblems.perform({ params: {} }, viewer, visit);
  const top = { params: {}, query: { limit: String(SHOWN_HOSTS) } };
  const [counts, hosts] = await Promise.all([
    isIndexed ? readRangeSeries.perform({ params: {}, query: { range } }, viewer, visit) : null,
    isIndexed && !isRefresh(request) ? listHosts.perform(top, viewer, visit) : null,
  ]);
  const isCounted = counts !== null && counts.totals.tasks > 0;
  const hasTasks = isCounted || (isIndexed && (await hasAnyTask(visit)));
  const upstreams = counts === null ? [] : upstreamsOf(counts, problems.places);
  const list = hosts?.list ?? NO_HOSTS;
  return { range, problems, counts, upstreams, hosts: list, hasTasks, now: Date.now() };
}

const NO_HOSTS = { data: [], total: 0 };

async function hasAnyTask(visit: ViewerVisit): Promise<boolean> {
  const one = { params: {}, query: { limit: "1" } };
  const { data } = await listTasks.perform(one, visit.viewer, visit);
  return data.length > 0;
}

interface OperatorOverviewProps {
  readonly facts: Facts;
  readonly origin: string;
  readonly isSandboxOn: boolean;
}

/**
 * The front page of operators: first the present problems, then the present numbers and the upstreams, then the numbers
 * of the time range.
 */
function OperatorOverview({ facts, origin, isSandboxOn }: OperatorOverviewProps) {
  const { range, problems, counts, hasTasks } = facts;
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
          sub={<Summary facts={facts} />}
        >
          {hasTasks ? <RangeSwitch range={range} /> : null}
          <ApiDialog origin={origin} paths={paths} />
        </PageHead>
        <Problems problems={problems.data} />
      </div>
      {counts === null ? <NoIndex /> : null}
      {counts === null || hasTasks ? null : <FirstTask origin={origin} isSandboxOn={isSandboxOn} />}
      {counts !== null && hasTasks ? <Tasks facts={facts} counts={counts} /> : null}
    </>
  );
}

/** Returns the path of the API request that returns the data of the charts. */
function seriesPathOf(counts: RangeSeries | null): string {
  if (counts === null) return "/v1/stats/series";
  const { since, until, step_s: step } = counts;
  return `/v1/stats/series?since=${since}&until=${until}&step=${step}`;
}

interface TasksProps {
  readonly facts: Facts;
  readonly counts: RangeSeries;
}

/** Section with the tasks for which the relay has work to do at present, and with the numbers of the time range. */
function Tasks({ facts, counts }: TasksProps) {
  const { range, problems, upstreams, hosts, now } = facts;
  const { totals } = counts;
  const isCounted = counts.counted_at !== null;
  return (
    <div class="stack overview">
      <div id="now" data-refresh="30">
        <Now problems={problems} now={now} />
      </div>
      <div id="upstreams" data-refresh="30">
        <UpstreamsPanel
          upstreams={upstreams}
          counts={counts}
          range={RANGES[range]}
          keyRefused={keyRefusedIn(problems.data)}
          now={now}
        />
      </div>
      {isCounted ? (
        <>
          <Past counts={counts} range={RANGES[range]} />
          <div class="columns charts">
            <CallbacksChart counts={counts} />
            <LatencyChart counts={counts} />
          </div>
        </>
      ) : (
        <NotCounted />
      )}
      <HostsTable hosts={hosts.data} total={hosts.total} now={now} />
      <Failures
        failures={totals.failures}
        since={counts.since}
        aside={`of the tasks of the last ${RANGES[range]}`}
      />
      <FailedAttempts outcomes={totals.outcomes} since={counts.since} range={RANGES[range]} />
    </div>
  );
}

/** Returns the names of the connections whose API key is refused, according to the present problems. */
function keyRefusedIn(problems: readonly PresentProblem[]): readonly string[] {
  return problems
    .filter(({ kind }) => kind === "key_refused")
    .map(({ subject: { connection } }) => String(connection));
}

function Headline({ facts }: { readonly facts: Facts }) {
  const { problems, counts, range, upstreams } = facts;
  const seen = {
    problems: problems.data,
    failedOfDay: problems.failedOfDay,
    successRate: counts?.totals.success_rate ?? null,
    range: RANGES[range],
    failingUpstreams: upstreams.flatMap(({ name, isFailing }) => (isFailing ? name : [])),
  };
  return <Chip {...headlineOf(seen)} />;
}

function Summary({ facts: { problems, range, counts } }: { readonly facts: Facts }) {
  const delivered = counts?.totals.delivered ?? 0;
  const callbacks = `${countOf(delivered, "callback")} delivered in ${RANGES[range]}. `;
  const failed = problems.failedOfDay?.count ?? 0;
  return (
    <>
      {delivered > 0 ? callbacks : ""}
      {failed > 0 ? (
        <>
          <a href="/tasks?callback=failed&range=24h">What failed</a>.{" "}
        </>
      ) : null}
      Looked at <Time at={problems.at * 1000} />.
    </>
  );
}

function RangeSwitch({ range }: { readonly range: RangeName }) {
  return (
    <nav class="segments" aria-label="Range">
      {Object.entries(RANGES).map(([name, title]) => (
        <a href={`/?range=${name}`} aria-current={name === range ? "true" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
