import { readHost } from "../../api/search/read-hosts.ts";
import { linkOrigin } from "../../api/http/link-origin.ts";
import { may } from "../../objects/task/caller.ts";
import { html } from "../http/html-answer.ts";
import { withFaultsIn } from "../http/form-fault.ts";
import { countText, percentText } from "../parts/format.ts";
import { frameOf } from "../layout/frame.ts";
import { callbackOf, countFailed, redeliverOnce, testUrl } from "./host-actions.ts";
import { formAction, viewerPage, type ViewerVisit } from "../http/page.ts";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Id } from "../parts/copy.tsx";
import { HourLegend, HourStrip } from "../parts/hour-strip.tsx";
import { Layout } from "../layout/layout.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import { Stat } from "../parts/stat.tsx";
import { Ago } from "../parts/shown-time.tsx";
import { HostFailures, type Sample } from "./host-failures.tsx";
import { HostNotice } from "./host-notice.tsx";
import { HostSteps, ONE, type Steps, TEST } from "./host-steps.tsx";

/**
 * Largest number of tasks whose callback the page shows as an example, one for each pair of outcome and HTTP status.
 */
const MAX_SAMPLES = 4;

type Host = Awaited<ReturnType<typeof readHost.perform>>;
type HostVisit = ViewerVisit<{ readonly host: string }>;

export const hostPage = viewerPage("/hosts/{host}", "inspect", (visit) => showHost(visit, NOTHING));

/** Sends a test callback to the URL in the form, and shows its outcome on the page of the host. */
export const testHost = formAction("/hosts/{host}/test", "operate", async (visit) => {
  const url = visit.form.get("callback_url") ?? "";
  return withFaultsIn(
    { id: TEST, typed: visit.form, fields: ["callback_url"] },
    async () => showHost(visit, { ...NOTHING, tested: await testUrl(visit, url), url }),
    (fault) => showHost(visit, { ...NOTHING, fault, url }),
  );
});

/**
 * Redelivers the callback of one task, and shows its outcome. When it was delivered, also counts the failed callbacks
 * to the host, as a preview of the redelivery of all.
 */
export const redeliverOne = formAction("/hosts/{host}/one", "operate", async (visit) => {
  const id = visit.form.get("task") ?? "";
  const run = visit.form.get("run") ?? "";
  return withFaultsIn(
    { id: ONE, typed: visit.form, fields: [] },
    async () => {
      const sent = { id, callback: await redeliverOnce(id, visit, run) };
      return showHost(visit, { ...NOTHING, sent });
    },
    (fault) => showHost(visit, { ...NOTHING, fault }),
  );
});

/** Results of the form that the viewer has just sent from the page of a host: a test or a redelivery. */
interface Done extends Pick<Steps, "tested" | "sent" | "fault"> {
  /** URL that was entered for a test callback. Null means that the form of the test was not sent. */
  readonly url: string | null;
}

const NOTHING: Done = { tested: null, sent: null, fault: null, url: null };

async function showHost(visit: HostVisit, done: Done): Promise<Response> {
  const { params } = visit;
  const host = await readHost.perform({ params }, visit.viewer, visit);
  const samples = await samplesOf(host, visit);
  const now = Date.now();
  const [origin, path] = [
    linkOrigin(visit.env, visit.request),
    `/hosts/${encodeURIComponent(host.host)}`,
  ];
  const steps = may(visit.viewer, "operate") ? await stepsOf(host, samples, visit, done) : null;
  return html(
    <Layout title={host.host} frame={frameOf(visit)} section="hosts">
      <PageHead
        title={host.host === "*" ? "Other hosts" : <Id text={host.host} what="host" />}
        sub={
          <a href="/hosts" class="back">
            All hosts
          </a>
        }
      >
        <ApiDialog origin={origin} paths={[`/v1${path}`]} />
      </PageHead>
      <div class="stack">
        <HostNotice host={host} failed={failedCount(host)} link={`${origin}${path}`} now={now} />
        {steps === null ? null : <HostSteps {...steps} />}
        <HostFailures failures={host.failures} samples={samples} now={now} />
        <HostDay host={host} now={now} />
      </div>
    </Layout>,
  );
}

/**
 * Returns the three steps of a host's page (send a test, redeliver one callback, redeliver all) with their results.
 * Null means that they are not shown: no callback to the host has failed and no form of the page was sent, or the
 * page is that of the hosts that are counted together (`*`).
 */
async function stepsOf(
  host: Host,
  samples: readonly Sample[],
  visit: HostVisit,
  { url, ...done }: Done,
): Promise<Steps | null> {
  const failed = failedCount(host);
  const { sent } = done;
  if (host.host === "*" || (failed === 0 && isUnused(done))) return null;
  const isDelivered = sent?.callback?.status === "delivered";
  return {
    ...done,
    host: host.host,
    url: url ?? urlIn([...samples, ...(sent === null ? [] : [sent])]),
    task: samples.find(({ id }) => id !== sent?.id)?.id ?? null,
    failed,
    expected: isDelivered ? await countFailed(host.host, visit) : null,
  };
}

/** Tells whether the page shows no result of any of its forms, because none was sent. */
function isUnused({ tested, sent, fault }: Omit<Done, "url">): boolean {
  return tested === null && sent === null && fault === null;
}

/** Returns the first callback URL that these tasks have; the empty text when none is known. */
function urlIn(samples: readonly Sample[]): string {
  return samples.flatMap(({ callback }) => callback?.url ?? [])[0] ?? "";
}

/**
 * Returns the number of failed callbacks to a host. Normally they are counted in the rows of the index. When not all
 * rows were read, the hourly counts are used, too. These may be minutes old, and may then contain callbacks that were
 * delivered since.
 */
function failedCount({ callbacks, failing, failures }: Host): number {
  const found = failures.outcomes.reduce((sum, { tasks }) => sum + tasks, 0) - failures.sending;
  return failures.is_capped ? Math.max(callbacks.failed, failing?.failed ?? 0, found) : found;
}

/** Reads the callbacks that are examples of how the host fails, from the Durable Objects of their tasks. */
async function samplesOf({ failures }: Host, visit: HostVisit): Promise<readonly Sample[]> {
  const ids = failures.outcomes.flatMap(({ task_id: id }) => id ?? []).slice(0, MAX_SAMPLES);
  return Promise.all(ids.map(async (id) => ({ id, callback: await callbackOf(id, visit) })));
}

function HostDay({ host, now }: { readonly host: Host; readonly now: number }) {
  const { callbacks, success_rate: rate, attempts_per_callback: attempts } = host;
  const filter = `host=${encodeURIComponent(host.host)}&range=24h`;
  const href = (query: string) => (host.host === "*" ? {} : { href: `/tasks?${filter}${query}` });
  return (
    <Panel
      title="Last 24 hours"
      aside={
        host.counted_at === null ? (
          "not counted yet"
        ) : (
          <>
            counted <Ago at={host.counted_at * 1000} now={now} />
          </>
        )
      }
    >
      <div class="stack-s">
        <div class="stats">
          <Stat value={countText(callbacks.total)} label="callbacks" {...href("")} />
          <Stat value={rate === null ? "–" : percentText(rate)} label="delivered" />
          <Stat value={countText(callbacks.failed)} label="failed" {...href("&callback=failed")} />
          <Stat value={attempts?.toFixed(2) ?? "–"} label="attempts each" />
        </div>
        <HourStrip callbacks={host.callbacks_by_hour} failed={host.failed_by_hour} />
        <HourLegend />
      </div>
    </Panel>
  );
}
