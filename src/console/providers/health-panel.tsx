import type { indexStateOf } from "../../api/health/index-health.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { OpenCount } from "../../index-db/open-count.ts";
import { countOf, countText, durationText } from "../parts/format.ts";
import { Panel } from "../parts/page-head.tsx";
import { Stat } from "../parts/stat.tsx";
import { Ago } from "../parts/shown-time.tsx";

type IndexState = NonNullable<Awaited<ReturnType<typeof indexStateOf>>>;

interface HealthPanelProps {
  /** Id of the deployed version; null when the platform gives none. */
  readonly version: string | null;
  /** State of the index; null when no index is bound. */
  readonly index: IndexState | null;
  /** Number of unsettled tasks; null when they could not be counted. */
  readonly unsettled: OpenCount | null;
}

/**
 * Section with the version of the relay, the state of its index, and the numbers of unsettled and of overdue tasks.
 */
export function HealthPanel({ version, index, unsettled }: HealthPanelProps) {
  return (
    <Panel title="Health">
      <div class="stats">
        <Stat value={version?.slice(0, 8) ?? "not bound"} label="version" />
        {index === null ? <Stat value="not bound" label="index" /> : <IndexStats {...index} />}
        {unsettled === null ? null : (
          <>
            <Stat
              value={countText(unsettled.tasks) + (unsettled.isCapped ? "+" : "")}
              label="tasks not settled"
              href="/tasks"
            />
            <Stat value={countText(unsettled.overdue)} label="overdue by more than a minute" />
          </>
        )}
      </div>
    </Panel>
  );
}

function IndexStats(index: IndexState) {
  const label = `index, ${countOf(index.databases, "database")}`;
  if (!index.is_reachable) return <Stat value="does not answer" label={label} />;
  const {
    counted_at: countedAt,
    lag_ms: { p50, p99 },
  } = index;
  const lag = [p50, p99].flatMap((ms) => (ms === null ? [] : durationText(ms))).join(", ");
  return (
    <>
      <Stat value={`${Math.ceil((index.size_bytes ?? 0) / 1e6)} MB`} label={label} />
      <Stat value={lag || "–"} label="index behind, of 2 h: median, 99 %" />
      <Stat
        value={countedAt === null ? "never" : <Ago at={countedAt * SECOND_MS} now={Date.now()} />}
        label="last counted"
      />
    </>
  );
}
