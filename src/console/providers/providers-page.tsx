import { healthDetails } from "../../api/health/details.ts";
import { queryIndex } from "../../api/search/query-index.ts";
import { openTasks } from "../../api/search/read-open.ts";
import type { Config } from "../../config/config.ts";
import { countOpen } from "../../index-db/open-count.ts";
import { shardsOf } from "../../index-db/shards.ts";
import type { Env } from "../../env.ts";
import { html } from "../http/html-answer.ts";
import { frameOf } from "../layout/frame.ts";
import { viewerPage } from "../http/page.ts";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Layout } from "../layout/layout.tsx";
import { Notice } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import { ConnectionTable } from "./connection-table.tsx";
import { HealthPanel } from "./health-panel.tsx";
import { OpenNote } from "./open-counts.tsx";

/**
 * Largest number of unsettled tasks (without a result, or with a callback or refund still under way) that are
 * counted.
 */
const MAX_OPEN = 500;

/**
 * The page with the connections to providers and their faults, and with the health and the configuration of the
 * relay.
 */
export const providersPage = viewerPage("/providers", "inspect", async (visit) => {
  const { env, url, runtime } = visit;
  const { config } = runtime;
  const details = await healthDetails(config, env);
  const { configuration, connections, without_key: withoutKey, index } = details;
  const rows = { ...connections, ...withoutKey };
  const { open, unsettled } = index?.is_reachable === true ? await taskCounts(env, config) : NONE;
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

/** Counts in the index the open tasks of each connection, and all unsettled tasks. Both are null without an index. */
async function taskCounts(env: Env, config: Config) {
  const shards = shardsOf(env, config);
  if (shards === null) return NONE;
  const [open, unsettled] = await Promise.all([
    openTasks(env, config),
    queryIndex(() => countOpen(shards, MAX_OPEN, Date.now())),
  ]);
  return { open, unsettled };
}

interface ConfigurationProps {
  readonly values: Awaited<ReturnType<typeof healthDetails>>["configuration"];
  readonly bindings: readonly string[];
}

/**
 * The configuration of the relay: each setting with the name and in the unit of its environment variable. Of secrets
 * and offers only the number is shown.
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
