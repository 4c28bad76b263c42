import { configurationOf, connectionsOf } from "../../../api/health.ts";
import { queryIndex } from "../../../api/search/query-index.ts";
import { recentCounts } from "../../../api/search/recent-counts.ts";
import { configOf, versionOf } from "../../../config/runtime.ts";
import { warningsOf } from "../../../config/warnings.ts";
import { BOUNDS_MS, quantile } from "../../../index-db/buckets.ts";
import { countOpen } from "../../../index-db/open-count.ts";
import { type Shards, shardsOf } from "../../../index-db/shards.ts";
import type { Env } from "../../../env.ts";
import { html } from "../../answer.ts";
import { countText, durationText } from "../../format.ts";
import { frameOf } from "../../frame.ts";
import { viewerPage } from "../../page.ts";
import { ApiDialog } from "../../parts/api-dialog.tsx";
import { Layout } from "../../parts/layout.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PageHead, Panel } from "../../parts/page-head.tsx";
import { Stat } from "../../parts/stat.tsx";
import { ConnectionTable } from "./connections.tsx";

/**
 * Largest number of unsettled tasks (without a result, or with an unfinished callback or refund) that are
 * counted.
 */
const MAX_OPEN = 500;

/** The connections to providers with their faults, and below them the health and the configuration of the relay. */
export const providersPage = viewerPage("/providers", "inspect", async (visit) => {
  const { env, url, runtime } = visit;
  const { config } = runtime;
  const now = Date.now();
  const shards = shardsOf(env, config);
  const [states, index] = await Promise.all([
    connectionsOf(config, env),
    shards === null ? null : indexFacts(env, shards, now),
  ]);
  return html(
    <Layout title="Providers" frame={frameOf(visit)} section="providers" isLive>
      <PageHead title="Providers and health" sub="Where results come from, and how the relay is">
        <ApiDialog origin={url.origin} paths={["/healthz", "/v1/problems"]} />
      </PageHead>
      <div class="stack" id="providers" data-refresh="60">
        <div class="stack-s">
          {warningsOf(env, configOf(env)).map(({ path, message }) => (
            <Notice tone="warn" icon="warn" title={`${path} ${message}`} />
          ))}
        </div>
        <Panel title="Connections" aside={<a href="/docs#attachUpstream">How jobs are attached</a>}>
          <ConnectionTable connections={[...config.connections.values()]} states={states} />
        </Panel>
        <Panel title="Health">
          <div class="stats">
            <Stat value={versionOf(env)?.slice(0, 8) ?? "not bound"} label="version" />
            {index === null ? (
              <Stat value="not bound" label="index" />
            ) : (
              <>
                <Stat value={index.lag} label="index behind, of 24 h: median, 99 %" />
                <Stat value={index.open} label="tasks not settled" href="/tasks" />
                <Stat value={index.overdue} label="overdue by more than a minute" />
              </>
            )}
          </div>
        </Panel>
        <Configuration values={configurationOf(config, env)} env={env} />
      </div>
    </Layout>,
  );
});

async function indexFacts(env: Env, shards: Shards, now: number) {
  const [open, { latencies }] = await queryIndex(() =>
    Promise.all([countOpen(shards, MAX_OPEN, now), recentCounts(env, shards, now)]),
  );
  const buckets = Array.from({ length: BOUNDS_MS.length + 1 }, () => 0);
  for (const { measure, bucket, tasks } of latencies) {
    if (measure === "index") buckets[bucket] = (buckets[bucket] ?? 0) + tasks;
  }
  const lags = [0.5, 0.99].flatMap((share) => quantile(buckets, share) ?? []);
  const more = open.isCapped ? "+" : "";
  return {
    lag: lags.map(durationText).join(", ") || "–",
    open: countText(open.tasks) + more,
    overdue: countText(open.overdue),
  };
}

interface ConfigurationProps {
  readonly values: ReturnType<typeof configurationOf>;
  readonly env: Env;
}

/**
 * The configuration of the relay: each setting by the name and in the unit of its environment variable; of
 * secrets only the number.
 */
function Configuration({ values: { secrets, ...settings }, env }: ConfigurationProps) {
  const bindings = Object.entries(env).flatMap(([name, value]) =>
    typeof value === "object" ? name : [],
  );
  const counts = Object.entries(secrets).map(([name, count]) => [name, `${count} set`] as const);
  return (
    <Panel title="Configuration" aside="Names and units of the variables; secrets are counted">
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
