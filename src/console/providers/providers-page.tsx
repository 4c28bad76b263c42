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
import { ConnectionTable, OpenNote } from "./connection-table.tsx";
import { PlacesPanel } from "./places-panel.tsx";

/** The page of the connections to providers and their faults, and of the health and configuration of the relay. */
export const providersPage = viewerPage("providersPage", "/providers", "inspect", async (visit) => {
  const { env, url, runtime, viewer } = visit;
  const { config } = runtime;
  const [details, queues] = await Promise.all([
    readHealthDetails.perform({ params: {} }, viewer, visit),
    readQueues.perform({ params: {} }, viewer, visit),
  ]);
  const { configuration, connections, pools, without_key: withoutKey, index } = details;
  const rows = { ...connections, ...pools, ...withoutKey };
  const { open, unsettled } =
    index?.is_reachable === true
      ? await readOpenTasks.perform({ params: {} }, viewer, visit)
      : NONE;
  return html(
    <Layout title="Providers" frame={frameOf(visit)} section="providers" isLive>
      <PageHead title="Providers and health" sub="Where results come from, and how the relay is">
        <ApiDialog origin={url.origin} paths={["/healthz", "/v1/problems"]} />
      </PageHead>
      <div class="stack" id="providers" data-refresh="60">
        <div class="stack-s">
          {env.startup.warnings.map(({ path, message }) => (
            <Notice tone="warn" icon="warn" title={`${path} ${message}`} />
          ))}
        </div>
        <PlacesPanel queues={queues} now={Date.now()} />
        <Panel title="Connections" aside={<a href="/docs#attachUpstream">How jobs are attached</a>}>
          <div class="stack-s">
            <ConnectionTable connections={config.connections} details={details} open={open} />
            <OpenNote
              open={open}
              isIndexed={index !== null}
              isListed={(name) => Object.hasOwn(rows, name)}
            />
          </div>
        </Panel>
        <HealthPanel version={env.startup.version} index={index} unsettled={unsettled} />
        <Configuration values={configuration} bindings={env.startup.bindings} />
      </div>
    </Layout>,
  );
});

const NONE = { open: null, unsettled: null };

interface ConfigurationProps {
  readonly values: HealthDetails["configuration"];
  readonly bindings: readonly string[];
}

/**
 * Section with the configuration of the relay: each setting under the name and in the unit of its environment variable.
 * Of secrets and offers, only the number is shown.
 */
function Configuration({ values, bindings }: ConfigurationProps) {
  const { secrets, OFFERS, ...settings } = values;
  const counted = Object.entries({ OFFERS: OFFERS.length, ...secrets });
  const counts = counted.map(([name, count]) => [name, `${count} set`] as const);
  return (
    <Panel
      title="Configuration"
      aside="Names and units of the variables; secrets and offers are counted"
    >
      <dl class="fields columns-2">
        {[...Object.entries(settings), ...counts].map(([name, value]) => (
          <div>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{valueText(value)}</dd>
          </div>
        ))}
        <div>
          <dt>Bindings</dt>
          <dd>{bindings.join(", ")}</dd>
        </div>
      </dl>
    </Panel>
  );
}

function valueText(value: string | number | boolean | null): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  return value === null || value === "" ? "–" : String(value);
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
    <Panel title="Health">
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
      <Stat value={lag || "–"} label="index behind, of 2 h: median, 99 %" />
      <Stat
        value={countedAt === null ? "never" : <Ago at={countedAt * SECOND_MS} now={Date.now()} />}
        label="last counted"
      />
    </>
  );
}
