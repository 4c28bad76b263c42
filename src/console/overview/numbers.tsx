import type { RangeSeries } from "../../api/search/range-series.ts";
import type { readPresentProblems } from "../../api/search/read-problems.ts";
import { countText, durationText, percentText } from "../parts/format.ts";
import { Panel } from "../parts/page-head.tsx";
import { Time } from "../parts/shown-time.tsx";
import { Stat } from "../parts/stat.tsx";

interface NowProps {
  readonly problems: Awaited<ReturnType<typeof readPresentProblems.perform>>;
  readonly now: number;
}

/**
 * Section with the numbers of tasks for which the relay has work to do at present: unsettled tasks (without a result,
 * or with a callback or refund still under way) and, among them, callbacks being sent, refunds due, and overdue tasks.
 */
export function Now({ problems, now }: NowProps) {
  if (problems.now === null) return null;
  const { unsettled, oldest_at: oldestAt, sending, refunding, overdue } = problems.now;
  const oldest = oldestAt === null ? "" : `, oldest ${durationText(now - oldestAt * 1000)}`;
  return (
    <section aria-label="Now" class="stats">
      <Stat value={cappedText(unsettled)} label={`not settled${oldest}`} href="/tasks" />
      <Stat value={cappedText(sending)} label="callbacks being sent" href="/tasks?callback=open" />
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
  readonly counts: RangeSeries;
  /** Name of the time range, e.g. `24 h`. */
  readonly range: string;
}

/** Section with totals of the tasks that were created in the time range, e.g. how many callbacks were delivered. */
export function Past({ counts, range }: PastProps) {
  const { totals } = counts;
  const {
    success_rate: successRate,
    attempts_per_callback: attemptsEach,
    first_attempt_ms: firstAttempt,
  } = totals;
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
  if (at === null) return <>Not counted yet, which takes up to 10 minutes.</>;
  return (
    <>
      Counted <Time at={at * 1000} />
    </>
  );
}
