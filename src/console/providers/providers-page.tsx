import { type HealthDetails, readHealthDetails } from "../../api/health/details.ts";
import { readQueues } from "../../api/health/queue-health.ts";
import { readOpenTasks, type Unsettled } from "../../api/search/read-open.ts";
import { SECOND_MS } from "../../core/time.ts";
import { html } from "../http/html-answer.ts";
import { viewerPage } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { countOf, countText, durationText } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import { Ago } from "../parts/shown-time.tsx";
import { Stat } from "../parts/stat.tsx";
import { ConfigurationPanel } from "./configuration-panel.tsx";
import { ConnectionTables } from "./connection-table.tsx";
import { PlacesPanel } from "./places-panel.tsx";

/**
 * The page of the connections to providers with their faults and places, of the health of the relay, and of its
 * configuration.
 */
export const providersPage = viewerPage("providersPage", "/providers", "inspect", async (visit) => {
  const { env, url, runtime, viewer } = visit;
  const { config } = runtime;
  const [details, queues] = await Promise.all([
    readHealthDetails.perform({ params: {} }, viewer, visit),
    readQueues.perform({ params: {} }, viewer, visit),
  ]);
  const { index } = details;
  const { open, unsettled } =
    index?.is_reachable === true
      ? await readOpenTasks.perform({ params: {} }, viewer, visit)
      : NONE;
  return html(
    <Layout title="Providers" frame={frameOf(visit)} section="providers" isLive>
      <PageHead title="Providers" sub="Where results come from, and how the relay is">
        <Parts />
        <ApiDialog origin={url.origin} paths={["/healthz", "/v1/problems"]} />
      </PageHead>
      <div class="stack" id="providers" data-refresh="60">
        <div class="stack-s">
          {env.startup.warnings.map(({ path, message }) => (
            <Notice tone="warn" icon="warn" title={`${path} ${message}`} />
          ))}
        </div>
        <Panel
          id="connections"
          title="Connections"
          aside={<a href="/docs#attachUpstream">How jobs are attached</a>}
        >
          <ConnectionTables
            connections={config.connections}
            details={details}
            open={open}
            isIndexed={index !== null}
          />
        </Panel>
        <PlacesPanel queues={queues} now={Date.now()} />
        <HealthPanel version={env.startup.version} index={index} unsettled={unsettled} />
        <ConfigurationPanel
          groups={details.settings}
          changed={details.changed}
          bindings={env.startup.bindings}
        />
      </div>
    </Layout>,
  );
});

const NONE = { open: null, unsettled: null };

/** Links to the three parts of the page. */
function Parts() {
  return (
    <nav class="segments" aria-label="On this page">
      <a href="#connections">Connections</a>
      <a href="#health">Health</a>
      <a href="#configuration">Configuration</a>
    </nav>
  );
}

type IndexState = NonNullable<HealthDetails["index"]>;

interface HealthPanelProps {
  /** Id of the deployed version of the relay; null when the platform states none. */
  readonly version: string | null;
  /** State of the index; null when the relay has no index. */
  readonly index: IndexState | null;
  /**
   * Number of unsettled tasks (without a result, or with a callback or refund still under way); null when they could
   * not be counted.
   */
  readonly unsettled: Unsettled | null;
}

/** Section with the version of the relay, the state of its index, and the numbers of unsettled and of overdue tasks. */
function HealthPanel({ version, index, unsettled }: HealthPanelProps) {
  return (
    <Panel id="health" title="Health" aside={<a href="/">Problems of the moment</a>}>
      <div class="stats">
        <Stat value={version?.slice(0, 8) ?? "not bound"} label="version" />
        {index === null ? <Stat value="not bound" label="index" /> : <IndexStats {...index} />}
        {unsettled === null ? null : (
          <>
            <Stat
              value={countText(unsettled.count) + (unsettled.is_capped ? "+" : "")}
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
      <Stat value={lag || "–"} label="delay of the index in 2 h: median, 99 %" />
      <Stat
        value={countedAt === null ? "never" : <Ago at={countedAt * SECOND_MS} now={Date.now()} />}
        label="last counted"
      />
    </>
  );
}
