import type { PlacesOfConnection } from "../../api/search/read-problems.ts";
import type { RangeSeries } from "../../api/search/range-series.ts";
import type { Upstream } from "../../api/search/upstreams.ts";
import { HOUR_S, SECOND_MS } from "../../core/time.ts";
import { Chip } from "../parts/chip.tsx";
import { countOf, countText, durationText, percentText } from "../parts/format.ts";
import { HourStrip } from "../parts/hour-strip.tsx";
import { NumbersTable } from "../parts/numbers-table.tsx";
import { Panel } from "../parts/page-head.tsx";
import { Ago } from "../parts/shown-time.tsx";
import { Spark } from "../parts/spark.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { POOL_WAITS } from "../providers/places-panel.tsx";
import { stepName } from "./charts.tsx";

/** Largest number of upstreams that the overview shows. */
const SHOWN = 8;

interface UpstreamsProps {
  readonly upstreams: readonly Upstream[];
  readonly counts: RangeSeries;
  /** Name of the time range, e.g. `24 h`. */
  readonly range: string;
  /** Names of the connections whose API key is refused at present. */
  readonly keyRefused: readonly string[];
  readonly now: number;
}

/**
 * Section about the upstreams: for each connection, how long its jobs take and how many fail, in total and by hour or
 * day, whether its key is refused, and which places it has left.
 */
export function UpstreamsPanel({ upstreams, counts, range, keyRefused, now }: UpstreamsProps) {
  if (upstreams.length === 0) return null;
  const shown = upstreams.slice(0, SHOWN);
  const rows = shown.map((each) => ({ ...each, isKeyRefused: keyRefused.includes(each.name) }));
  const step = counts.step_s === HOUR_S ? "hour" : "day";
  return (
    <Panel
      title="Upstreams"
      aside={
        <>
          Jobs of the last {range}, <a href="/docs#readSeries">how they are counted</a>
        </>
      }
    >
      <div class="stack-s">
        <Table
          caption="Upstreams: times and failures of their jobs"
          columns={columnsFor(rows, counts, step, now)}
          rows={rows}
          rowId={({ name }) => `upstream-${name}`}
        />
        <NumbersTable
          title="Time (UTC)"
          caption={`Median time of jobs and failed jobs by ${step}`}
          titles={shown.map(({ name }) => name)}
          rows={counts.steps.map(({ at }, index) => [
            stepName(at, counts.step_s),
            ...shown.map(({ steps }) => stepText(steps[index])),
          ])}
        />
        <p class="muted small">
          Failed are jobs that the upstream has ended, refused or not finished; those for a reason
          of the caller (content, parameters, a cancellation) are counted apart. The highest bar of
          each upstream is its own longest time.
          {upstreams.length > SHOWN ? ` Only ${SHOWN} of ${upstreams.length} are shown.` : ""}
          {shown.some(({ places }) => places?.isPoolMember === true) ? ` ${POOL_WAITS}` : ""}
        </p>
      </div>
    </Panel>
  );
}

interface Row extends Upstream {
  readonly isKeyRefused: boolean;
}

function columnsFor(
  shown: readonly Row[],
  { since }: RangeSeries,
  step: string,
  now: number,
): readonly Column<Row>[] {
  const path = (name: string) => `/tasks?provider=${encodeURIComponent(name)}&since=${since}`;
  const places: Column<Row> = {
    title: "Places",
    cell: ({ places: own }) => (own === null ? "no limit" : <Places places={own} now={now} />),
  };
  const columns: readonly Column<Row>[] = [
    { title: "Upstream", cell: (row) => <Name upstream={row} path={path(row.name)} step={step} /> },
    {
      title: `Time by ${step}`,
      cell: ({ steps }) => <Spark values={steps.map(({ medianMs }) => medianMs)} />,
    },
    { title: "Median", isNumber: true, cell: ({ medianMs: ms }) => msText(ms) },
    { title: "95 %", isNumber: true, cell: ({ p95Ms: ms }) => msText(ms) },
    { title: "Completed", isNumber: true, cell: ({ completed }) => countText(completed) },
    {
      title: "Failed",
      isNumber: true,
      cell: (row) => <Failed upstream={row} path={path(row.name)} />,
    },
    {
      title: `Failed by ${step}`,
      cell: ({ steps }) => (
        <HourStrip
          counts={steps.map(({ completed, failed }) => completed + failed)}
          failed={steps.map(({ failed }) => failed)}
        />
      ),
    },
  ];
  return shown.some((row) => row.places !== null) ? [...columns, places] : columns;
}

function Name(props: { readonly upstream: Row; readonly path: string; readonly step: string }) {
  const { name, slow, isFailing, isKeyRefused } = props.upstream;
  return (
    <>
      <a href={props.path}>{name}</a>
      {isFailing ? (
        <p>
          <Chip tone="bad" icon="cross" word="fails" />
        </p>
      ) : null}
      {isKeyRefused ? (
        <p>
          <Chip tone="bad" icon="cross" word="key refused" />
        </p>
      ) : null}
      {slow === null ? null : (
        <p class="small">
          <Chip tone="warn" icon="clock" word="slow" />{" "}
          {props.step === "hour" ? "in the last 3 hours" : "today"}:{" "}
          <span class="nowrap">{durationText(slow.latestMs)},</span>{" "}
          <span class="nowrap">before {durationText(slow.beforeMs)}</span>
        </p>
      )}
    </>
  );
}

function Failed({ upstream, path }: { readonly upstream: Upstream; readonly path: string }) {
  const { completed, failed, failedByCaller } = upstream;
  return (
    <>
      {failed === 0 ? (
        "0"
      ) : (
        <a href={`${path}&status=failed`}>
          {countText(failed)}, {percentText(failed / (completed + failed))}
        </a>
      )}
      {failedByCaller === 0 ? null : (
        <p class="muted small">{countText(failedByCaller)} by callers</p>
      )}
    </>
  );
}

function Places({ places, now }: { readonly places: PlacesOfConnection; readonly now: number }) {
  const { held, inFlight, waiting, waitingSince } = places;
  const taken =
    inFlight === null ? countOf(held, "place") : `${countText(held)} of ${countText(inFlight)}`;
  return (
    <>
      <a class="nowrap" href="/providers#places">
        {taken} taken
      </a>
      {waiting === 0 ? null : (
        <p class="small">
          <a href="/tasks?submission=queued">{countText(waiting)} wait</a>
          {waitingSince === null ? null : (
            <>
              , the first came <Ago at={waitingSince * SECOND_MS} now={now} />
            </>
          )}
        </p>
      )}
    </>
  );
}

function stepText(step: Upstream["steps"][number] | undefined): string {
  if (step === undefined || step.completed + step.failed === 0) return "–";
  const failed = step.failed === 0 ? "" : `${countText(step.failed)} failed`;
  return [step.medianMs === null ? "" : durationText(step.medianMs), failed]
    .filter((text) => text !== "")
    .join(", ");
}

function msText(ms: number | null): string {
  return ms === null ? "–" : durationText(ms);
}
