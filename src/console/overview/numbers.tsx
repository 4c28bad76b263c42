import type { presentProblems } from "../../api/search/read-problems.ts";
import { countText, durationText, percentText } from "../parts/format.ts";
import type { Series, Step } from "./series.ts";
import { Panel } from "../parts/page-head.tsx";
import { Stat } from "../parts/stat.tsx";
import { Time } from "../parts/shown-time.tsx";
import { ratio } from "../../api/search/count-views.ts";
import { BOUNDS_MS, quantile } from "../../index-db/buckets.ts";

interface NowProps {
  readonly problems: Awaited<ReturnType<typeof presentProblems>>;
  readonly now: number;
}

/**
 * Section with the numbers of tasks that have work to do at present: all unsettled tasks (without a result, or with a
 * callback or refund still under way), and among them callbacks being sent, refunds due, and overdue tasks.
 */
export function Now({ problems, now }: NowProps) {
  if (problems.now === null) return null;
  const { unsettled, oldest_at: oldestAt, sending, refunding, overdue } = problems.now;
  const oldest = oldestAt === null ? "" : `, oldest ${durationText(now - oldestAt * 1000)}`;
  return (
    <section aria-label="Now" class="stats">
      <Stat value={cappedText(unsettled)} label={`not settled${oldest}`} href="/tasks" />
      <Stat
        value={cappedText(sending)}
        label="callbacks being sent"
        href="/tasks?callback=sending"
      />
      <Stat value={cappedText(refunding)} label="refunds due" />
      <Stat value={cappedText(overdue)} label="overdue" />
    </section>
  );
}

/** Returns a count as text, followed by `+` when there may be more. */
function cappedText({ count, is_capped: isCapped }: { count: number; is_capped: boolean }): string {
  return `${countText(count)}${isCapped ? "+" : ""}`;
}

interface PastProps {
  readonly totals: Totals;
  readonly counts: Series;
  /** Name of the time range, e.g. `24 h`. */
  readonly range: string;
}

/** Section with totals of the tasks that were created in the time range, e.g. how many callbacks were delivered. */
export function Past({ totals, counts, range }: PastProps) {
  const { successRate, attemptsEach, firstAttempt } = totals;
  const since = `since=${counts.since}`;
  return (
    <Panel title={`Tasks of the last ${range}`} aside={<Counted at={counts.counted_at} />}>
      <div class="stats">
        <Stat value={countText(totals.tasks)} label="tasks" href={`/tasks?${since}`} />
        <Stat
          value={successRate === null ? "–" : percentText(successRate)}
          label="of callbacks delivered"
          href={`/tasks?callback=delivered&${since}`}
        />
        <Stat
          value={countText(totals.failed)}
          label="callbacks failed"
          href={`/tasks?callback=failed&${since}`}
        />
        <Stat value={attemptsEach === null ? "–" : attemptsEach.toFixed(2)} label="attempts each" />
        {firstAttempt === null ? null : (
          <Stat
            value={
              <>
                {durationText(firstAttempt.p50)}{" "}
                <small>
                  p95 {durationText(firstAttempt.p95)} · p99 {durationText(firstAttempt.p99)}
                </small>
              </>
            }
            label="until the first attempt (p50)"
          />
        )}
      </div>
    </Panel>
  );
}

function Counted({ at }: { readonly at: number | null }) {
  if (at === null) return <>Not counted yet: the cron trigger counts every 10 minutes.</>;
  return (
    <>
      Counted <Time at={at * 1000} />, every 10 minutes
    </>
  );
}

/** An outcome, or a category of failures, with the number of its occurrences. */
export type CountOf = readonly [name: string, number: number];

/** Sums and latencies over all hours or days of a time range. */
export interface Totals {
  readonly tasks: number;
  readonly delivered: number;
  readonly failed: number;
  /** Share of the callbacks delivered or failed that were delivered; null when there are none. */
  readonly successRate: number | null;
  readonly attemptsEach: number | null;
  /** Number of failed attempts for each outcome, the most frequent outcome first. */
  readonly failedAttempts: readonly CountOf[];
  /** Number of failed tasks for each category of the failure, the most frequent category first. */
  readonly failures: readonly CountOf[];
  /**
   * Percentiles of the time from the accepted result to the start of the first attempt, in milliseconds; null when
   * none is known.
   */
  readonly firstAttempt: {
    readonly p50: number;
    readonly p95: number;
    readonly p99: number;
  } | null;
}

/** Returns the sums and latencies over all hours or days of a time range. */
export function totalsOf(steps: readonly Step[]): Totals {
  const sum = (of: (step: Step) => number) => steps.reduce((total, step) => total + of(step), 0);
  const delivered = sum(({ callbacks }) => callbacks.delivered);
  const failed = sum(({ callbacks }) => callbacks.failed);
  const attempts = sum(({ callbacks }) => callbacks.attempts);
  const ended = sum(({ callbacks }) => callbacks.delivered + callbacks.failed + callbacks.sending);
  const histogram = addUp(steps.map(({ latency }) => latency.first_attempt));
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((q) => quantile(histogram, q));
  return {
    tasks: sum(({ tasks }) => tasks.total),
    delivered,
    failed,
    successRate: ratio(delivered, delivered + failed),
    attemptsEach: ended === 0 ? null : attempts / ended,
    failedAttempts: mostFirst(steps.map(({ callbacks }) => callbacks.outcomes)).filter(
      ([outcome]) => outcome !== "delivered",
    ),
    failures: mostFirst(steps.map(({ tasks }) => tasks.failures)),
    firstAttempt: p50 == null || p95 == null || p99 == null ? null : { p50, p95, p99 },
  };
}

/** Adds up the numbers of each name. @returns the names with their sums, the largest sum first. */
export function mostFirst(parts: readonly Readonly<Record<string, number>>[]): readonly CountOf[] {
  const groups = Map.groupBy(parts.flatMap(Object.entries<number>), ([name]) => name);
  return [...groups]
    .map(([name, group]) => [name, group.reduce((sum, [, each]) => sum + each, 0)] as const)
    .toSorted(([, a], [, b]) => b - a);
}

function addUp(histograms: readonly (readonly number[])[]): readonly number[] {
  return BOUNDS_MS.concat(Infinity).map((_, bucket) =>
    histograms.reduce((sum, histogram) => sum + (histogram[bucket] ?? 0), 0),
  );
}
