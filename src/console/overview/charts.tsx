import { HOUR_S } from "../../core/time.ts";
import type { RangeSeries } from "../../api/search/range-series.ts";
import { Bars, sumsText } from "../parts/bars.tsx";
import { NumbersTable } from "../parts/numbers-table.tsx";
import { countText, durationText, utcText } from "../parts/format.ts";
import { Panel } from "../parts/page-head.tsx";
import { HEAT_BOUNDS_MS, heatCells, Heatmap } from "./heatmap.tsx";

interface ChartProps {
  readonly counts: RangeSeries;
}

const KINDS = [
  { name: "delivered", class: "bar-ok", tone: "tone-chart-ok" },
  { name: "being sent", class: "bar-busy", tone: "tone-chart-busy" },
  { name: "failed", class: "bar-bad", tone: "tone-chart-bad" },
] as const;

/** Number of bars (hours or days) from one labelled bar of a chart to the next, when not every bar has a label. */
const LABEL_EVERY = 6;
/**
 * Largest number of bars (hours or days) of a chart in which every bar has a label. With more bars, every sixth has
 * one.
 */
const ALL_LABELLED = 8;

/** Returns the name of a bar of a chart: the hour or day for which it stands. */
export function stepName(at: number, stepS: number): string {
  const text = utcText(at * 1000);
  return stepS === HOUR_S ? text.slice(7, 12) : text.slice(0, 6);
}

function isLabelled(at: number, { steps, step_s: stepS }: RangeSeries): boolean {
  return steps.length <= ALL_LABELLED || (at / stepS) % LABEL_EVERY === 0;
}

/** Chart of callbacks by status. Each bar is for the tasks that were created in one hour or day. */
export function CallbacksChart({ counts }: ChartProps) {
  const { steps, step_s: stepS } = counts;
  const bars = steps.map(({ at, callbacks }) => ({
    name: stepName(at, stepS),
    href: `/tasks?since=${at}&until=${at + stepS}`,
    isLabelled: isLabelled(at, counts),
    parts: [
      callbacks.delivered,
      callbacks.sending + callbacks.retrying + callbacks.paused,
      callbacks.failed,
    ],
  }));
  return (
    <Panel
      title={`Callbacks by ${stepS === HOUR_S ? "hour" : "day"}, UTC`}
      aside={
        <span class="legend">
          {KINDS.map(({ name, tone }) => (
            <span class={tone}>{name}</span>
          ))}
        </span>
      }
    >
      <Bars
        title={`Callbacks over time: ${sumsText({ bars, kinds: KINDS })}`}
        bars={bars}
        kinds={KINDS}
      />
      <NumbersTable
        title="Time (UTC)"
        caption="Callbacks"
        titles={KINDS.map(({ name }) => name)}
        rows={bars.map(({ name, parts }) => [name, ...parts.map(countText)])}
      />
    </Panel>
  );
}

/**
 * Chart of the time from the result of a task to the first attempt of its callback. Each column is for the tasks that
 * were created in one hour or day.
 */
export function LatencyChart({ counts }: ChartProps) {
  const { steps, step_s: stepS } = counts;
  const rows = [...HEAT_BOUNDS_MS.map((bound) => `≤ ${durationText(bound)}`), "longer"];
  const quantiles = steps.map(({ at, first_attempt_ms: { p50, p95, p99 } }) => [
    stepName(at, stepS),
    ...[p50, p95, p99].map((value) => (value === null ? "–" : durationText(value))),
  ]);
  return (
    <Panel title="From the result to the first attempt" aside="darker: more tasks">
      <Heatmap
        cells={heatCells(steps, counts.bounds_ms)}
        rows={rows}
        columns={steps.map(({ at }) => (isLabelled(at, counts) ? stepName(at, stepS) : ""))}
      />
      <NumbersTable
        title="Time (UTC)"
        caption="From the result to the first attempt"
        titles={["p50", "p95", "p99"]}
        rows={quantiles}
      />
    </Panel>
  );
}
