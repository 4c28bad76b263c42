import type { PropsWithChildren } from "hono/jsx";
import { linkOrigin } from "../../api/http/link-origin.ts";
import { type BulkEffects, countRedeliveries } from "../../api/callbacks/bulk-redelivery.ts";
import { pauseHost, resumeHost } from "../../api/hosts/pause-host.ts";
import type { failuresOf } from "../../api/search/host-views.ts";
import { readHost } from "../../api/search/read-hosts.ts";
import type { TaskCallback } from "../../api/shapes/task-shape.ts";
import { inspectTask } from "../../api/tasks/read-task.ts";
import { redeliverTask } from "../../api/callbacks/redeliver-task.ts";
import { taskIn } from "../../api/tasks/task-json.ts";
import { testCallback, type Tested } from "../../api/callbacks/test-callback.ts";
import { isOpenStatus } from "../../core/record/callback.ts";
import { SECOND_MS } from "../../core/time.ts";
import { sum } from "../../core/sum.ts";
import { may } from "../../objects/task/caller.ts";
import { StartForm } from "../bulk-redelivery/bulk-redelivery-page.tsx";
import { MAX_COUNTED, reasonsText } from "../bulk-redelivery/bulk-redelivery-state.ts";
import { type FormFault, withFaultsIn } from "../http/forms.ts";
import { html, seeOther } from "../http/html-answer.ts";
import { formAction, type FormVisit, viewerPage, type ViewerVisit } from "../http/page.ts";
import { frameOf, Layout } from "../layout/layout.tsx";
import { ApiDialog } from "../parts/api-dialog.tsx";
import { Status } from "../parts/chip.tsx";
import { CopyButton, Id } from "../parts/copy.tsx";
import { described, FormIssue, Issue } from "../parts/field.tsx";
import { countOf, countText, durationText, percentText } from "../parts/format.ts";
import { Hostile } from "../parts/hostile.tsx";
import { HourLegend, HourStrip } from "../parts/hour-strip.tsx";
import { Notice } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/page-head.tsx";
import { Ago, Time } from "../parts/shown-time.tsx";
import { Stat } from "../parts/stat.tsx";
import { safeReturnTo } from "../session/return-to.ts";
import { likelyCauseOf } from "./host-causes.ts";
import { endpointsOf, HostEndpoints } from "./host-endpoints.tsx";
import { hostIncident } from "./host-incident.ts";
import {
  endIn,
  HOURS,
  PAUSE,
  PauseButton,
  PauseDialog,
  PauseNotice,
  RETURN_TO,
} from "./pause-panel.tsx";

/**
 * Largest number of tasks whose callbacks the page shows as examples, one for each combination of outcome and HTTP
 * status.
 */
const MAX_SAMPLES = 4;
/** Longest time in milliseconds that the page waits for the end of an attempt that its form has ordered. */
const WAIT_MS = 3 * SECOND_MS;
const LOOK_PAUSE_MS = 150;
/** Id of the form that sends a test callback, the first step on a failing host's page. */
const TEST = "test";
/** Id of the form that redelivers one failed callback, the second step on a failing host's page. */
const ONE = "one";
const URL_FIELD = "callback_url";

type Host = Awaited<ReturnType<typeof readHost.perform>>;
type HostVisit = ViewerVisit<{ readonly host: string }>;

export const hostPage = viewerPage("hostPage", "/hosts/{host}", "inspect", (visit) =>
  showHost(visit, NOTHING),
);

/** Sends a test callback to the URL in the form, and shows its outcome on the page of the host. */
export const testHost = formAction("testHost", "/hosts/{host}/test", "operate", async (visit) => {
  const url = visit.form.get("callback_url") ?? "";
  return withFaultsIn(
    { id: TEST, typed: visit.form, fields: ["callback_url"] },
    async () => {
      const given = { params: {}, body: { callback_url: url } };
      const tested = await testCallback.perform(given, visit.viewer, visit);
      return showHost(visit, { ...NOTHING, tested, url });
    },
    (fault) => showHost(visit, { ...NOTHING, fault, url }),
  );
});

/**
 * Redelivers the callback of one task, and shows its outcome. When it was delivered, also counts the failed callbacks
 * to the host, to show how many callbacks a redelivery of all would send.
 */
export const redeliverOne = formAction(
  "redeliverOne",
  "/hosts/{host}/one",
  "operate",
  async (visit) => {
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
  },
);

/** Pauses the host, and redirects to its page, or to the one from which the form was sent. */
export const pauseHostForm = formAction(
  "pauseHostForm",
  "/hosts/{host}/pause",
  "operate",
  async (visit) =>
    withFaultsIn(
      { id: PAUSE, typed: visit.form, fields: [HOURS] },
      async () => {
        const { params } = visit;
        const until = endIn(visit.form, Date.now());
        const paused = await pauseHost.perform({ params, body: { until } }, visit.viewer, visit);
        return seeOther(pageAfter(visit, paused.host));
      },
      (fault) => showHost(visit, { ...NOTHING, pauseFault: fault }),
    ),
);

/** Ends the pause of the host, and redirects to its page, or to the one from which the form was sent. */
export const resumeHostForm = formAction(
  "resumeHostForm",
  "/hosts/{host}/resume",
  "operate",
  async (visit) => {
    await resumeHost.perform({ params: visit.params }, visit.viewer, visit);
    return seeOther(pageAfter(visit, visit.params.host));
  },
);

function pageAfter({ form, url }: FormVisit<object>, host: string): string {
  const returnTo = form.get(RETURN_TO);
  return returnTo === null ? pathOf(host) : safeReturnTo(returnTo, url.origin);
}

/** Results of the form that the viewer has just sent from a host's page: a test callback or a redelivery. */
interface Done extends Pick<Steps, "tested" | "sent" | "fault"> {
  /** URL that was entered for a test callback. Null when the test form was not sent. */
  readonly url: string | null;
  /** Why the form that pauses the host was refused; null when it was not. */
  readonly pauseFault: FormFault | null;
}

const NOTHING: Done = { tested: null, sent: null, fault: null, url: null, pauseFault: null };

async function showHost(visit: HostVisit, done: Done): Promise<Response> {
  const { params } = visit;
  const host = await readHost.perform({ params }, visit.viewer, visit);
  const [samples, endpoints] = await Promise.all([
    samplesOf(host, visit),
    endpointsOf(host, visit),
  ]);
  const now = Date.now();
  const [origin, path] = [linkOrigin(visit.env, visit.request), pathOf(host.host)];
  const mayOperate = may(visit.viewer, "operate");
  const steps = mayOperate ? await stepsOf(host, samples, visit, done) : null;
  const pause = { host: host.host, path, until: host.paused_until };
  const mayPause = mayOperate && host.host !== "*" && host.paused_until === null;
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
        {mayPause ? <PauseButton /> : null}
        <ApiDialog origin={origin} paths={[`/v1${path}`]} />
        {host.host === "*" ? null : (
          <a class="button" href={`/attempts?host=${encodeURIComponent(host.host)}`}>
            Attempts
          </a>
        )}
      </PageHead>
      {mayPause ? <PauseDialog {...pause} fault={done.pauseFault} /> : null}
      <div class="stack">
        <PauseNotice {...pause} mayResume={mayOperate} now={now} />
        <HostNotice host={host} failed={failedCount(host)} link={`${origin}${path}`} now={now} />
        {steps === null ? null : <HostSteps {...steps} />}
        <HostFailures failures={host.failures} samples={samples} now={now} />
        {endpoints === null ? null : <HostEndpoints endpoints={endpoints} />}
        <HostDay host={host} now={now} />
      </div>
    </Layout>,
  );
}

/**
 * Returns the three steps of a host's page (send a test, redeliver one callback, redeliver all) with their results.
 * @returns null when the steps are not shown, because no callback to the host has failed and no form of the page was
 * sent, or because the page is about all hosts that are counted together (`*`).
 */
async function stepsOf(
  host: Host,
  samples: readonly Sample[],
  visit: HostVisit,
  { url, tested, sent, fault }: Done,
): Promise<Steps | null> {
  const done = { tested, sent, fault };
  const failed = failedCount(host);
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

/** Tells whether the page has no result to show, because none of its forms was sent. */
function isUnused({ tested, sent, fault }: Pick<Done, "tested" | "sent" | "fault">): boolean {
  return tested === null && sent === null && fault === null;
}

/** Returns the first known callback URL of these tasks; an empty text when none is known. */
function urlIn(samples: readonly Sample[]): string {
  return samples.flatMap(({ callback }) => callback?.url ?? [])[0] ?? "";
}

/**
 * Returns the number of failed callbacks to a host. It is counted from the rows of the index. When not all rows were
 * read, the hourly counts are used too; these may be minutes old, and may include callbacks that were delivered since.
 */
function failedCount({ callbacks, failing, failures }: Host): number {
  const found = sum(failures.outcomes.map(({ tasks }) => tasks)) - failures.sending;
  return failures.is_capped ? Math.max(callbacks.failed, failing?.failed ?? 0, found) : found;
}

/** Reads, from the Durable Objects of their tasks, the callbacks that serve as examples of how the host fails. */
async function samplesOf({ failures }: Host, visit: HostVisit): Promise<readonly Sample[]> {
  const ids = failures.outcomes.flatMap(({ task_id: id }) => id ?? []).slice(0, MAX_SAMPLES);
  return Promise.all(ids.map(async (id) => ({ id, callback: await callbackOf(id, visit) })));
}

/**
 * Reads the callback of a task from the task's Durable Object.
 * @returns null when the task no longer exists or has no callback.
 */
async function callbackOf(id: string, visit: ViewerVisit<object>): Promise<TaskCallback | null> {
  const found = await inspectTask.perform({ params: { id } }, visit.viewer, visit);
  return found === null ? null : taskIn(found.task).callback;
}

/**
 * Orders one more attempt of the callback of a task, and waits up to 3 seconds until the attempt ends.
 * @throws Problem when the task refuses the order, e.g. `series_running` while attempts are under way.
 */
async function redeliverOnce(
  id: string,
  visit: FormVisit<object>,
  idempotencyKey: string,
): Promise<TaskCallback | null> {
  const given = { params: { id }, body: { attempts: 1 }, idempotencyKey };
  await redeliverTask.perform(given, visit.viewer, visit);
  let callback = await callbackOf(id, visit);
  for (
    let waitedMs = 0;
    waitedMs < WAIT_MS && isOpenStatus(callback?.status);
    waitedMs += LOOK_PAUSE_MS
  ) {
    await scheduler.wait(LOOK_PAUSE_MS);
    callback = await callbackOf(id, visit);
  }
  return callback;
}

/** Returns how many failed callbacks to a host a bulk redelivery would send, and how many it would skip. */
async function countFailed(host: string, visit: ViewerVisit<object>) {
  const query = { callback: "failed", host, limit: String(MAX_COUNTED) };
  return countRedeliveries.perform({ params: {}, query }, visit.viewer, visit);
}

interface HostNoticeProps {
  readonly host: Host;
  /** Number of callbacks to the host that have failed and have not been delivered since. */
  readonly failed: number;
  /** Address of the host's page, to be part of the text for a chat. */
  readonly link: string;
  readonly now: number;
}

/** Shows whether callbacks to the host are failing at present. If so, offers a text to paste into a chat. */
function HostNotice({ host, failed, link, now }: HostNoticeProps) {
  const { failing, last_delivered_at: deliveredAt, last_failed_at: failedAt } = host;
  const last =
    deliveredAt === null ? null : (
      <p>
        Last delivered <Ago at={deliveredAt * 1000} now={now} />.
      </p>
    );
  const isBack = deliveredAt !== null && deliveredAt > (failedAt ?? 0);
  if (failing === null || (isBack && failing.sending === 0)) {
    const left = countOf(failed, "failed callback");
    const [tone, icon, title] =
      failed === 0
        ? (["ok", "check", "The host does not fail at present."] as const)
        : isBack
          ? (["warn", "warn", `Callbacks arrive again. ${left} left to send again.`] as const)
          : (["warn", "warn", `${left}, and none delivered since.`] as const);
    return (
      <Notice tone={tone} icon={icon} title={title}>
        {last}
      </Notice>
    );
  }
  const count = countText(failing.failed) + (failing.is_capped ? " or more" : "");
  return (
    <Notice
      tone="bad"
      icon="cross"
      actions={<CopyButton text={hostIncident(host, link)} label="Copy for the incident" />}
      title={
        <>
          <strong>Callbacks fail: {failing.status_code ?? failing.outcome ?? "no answer"}</strong>{" "}
          since <Time at={failing.since * 1000} />. {count} failed, {countText(failing.sending)}{" "}
          still being tried.
        </>
      }
    >
      {last}
    </Notice>
  );
}

/**
 * Data of the three steps by which callbacks to a failing host are resumed: send a test, redeliver one failed callback,
 * redeliver all. They include the results of the steps that were already taken.
 */
interface Steps {
  readonly host: string;
  /** URL to which a test callback is to be sent; empty when no URL is known. */
  readonly url: string;
  /** Id of the task whose failed callback is redelivered in the second step; null when no such task is known. */
  readonly task: string | null;
  /** Number of failed callbacks to the host. */
  readonly failed: number;
  readonly tested: Tested | null;
  readonly sent: { readonly id: string; readonly callback: TaskCallback | null } | null;
  /** Why the form that the viewer has just sent for a step was refused; null when none was refused. */
  readonly fault: FormFault | null;
  /**
   * Numbers of callbacks that a redelivery of all failed callbacks would send and skip. Null when they were not
   * counted, because no single callback has been redelivered successfully yet.
   */
  readonly expected: BulkEffects | null;
}

/**
 * Section of a host's page with three steps: send a test callback, redeliver one failed callback, redeliver all failed
 * callbacks. The button of the recommended next step is highlighted.
 */
function HostSteps(steps: Steps) {
  const { tested, sent, task, fault } = steps;
  const isTested = tested?.outcome === "delivered" || sent !== null;
  const isSent = sent?.callback?.status === "delivered";
  return (
    <Panel title="Deliver again">
      <ol class="steps">
        <Step title="Send a test" text="One callback of a sample task: does the receiver take it?">
          <TestForm {...steps} isNext={!isTested} />
          {tested === null ? null : <TestResult {...tested} />}
        </Step>
        <Step title="Send one again" text="One failed callback, as it was: does it arrive?">
          <form method="post" action={`${pathOf(steps.host)}/one`} class="step-form">
            <input type="hidden" name="task" value={task ?? ""} />
            <input type="hidden" name="run" value={crypto.randomUUID()} />
            <StepButton
              label="Send one again"
              isNext={isTested && !isSent}
              isDisabled={task === null}
            />
          </form>
          <FormIssue fault={fault?.form === ONE ? fault : null} />
          {sent === null ? null : <SentResult {...sent} />}
        </Step>
        <Step title="Send all again" text="Counted first. A reload sends nothing twice.">
          <RedeliverAll {...steps} isNext={isSent} />
        </Step>
      </ol>
    </Panel>
  );
}

function Step(props: PropsWithChildren<{ readonly title: string; readonly text: string }>) {
  return (
    <li class="step">
      <h3>{props.title}</h3>
      <p class="muted small">{props.text}</p>
      {props.children}
    </li>
  );
}

function TestForm({ host, url, fault, isNext }: Steps & { readonly isNext: boolean }) {
  const issue = fault?.issues.get(URL_FIELD);
  return (
    <>
      <form method="post" action={`${pathOf(host)}/test`} class="step-form">
        <input
          type="url"
          name={URL_FIELD}
          aria-label="URL of the receiver"
          value={url}
          required
          {...described(URL_FIELD, issue, undefined)}
        />
        <StepButton label="Send a test" isNext={isNext} />
      </form>
      <Issue id={URL_FIELD} issue={issue} />
      <FormIssue fault={fault?.form === TEST ? fault : null} />
    </>
  );
}

function pathOf(host: string): string {
  return `/hosts/${encodeURIComponent(host)}`;
}

function StepButton(props: {
  readonly label: string;
  readonly isNext: boolean;
  readonly isDisabled?: boolean;
}) {
  const { label, isNext, isDisabled = false } = props;
  return (
    <button type="submit" class={`button${isNext ? " button-main" : ""}`} disabled={isDisabled}>
      {label}
    </button>
  );
}

function TestResult({ outcome, status_code: code, duration_ms: ms, cause }: Tested) {
  return (
    <output class="state">
      <Status of={outcome} /> {code ?? ""} {cause ?? ""} in {durationText(ms)}
    </output>
  );
}

function SentResult({ id, callback }: NonNullable<Steps["sent"]>) {
  const last = callback?.attempts.at(-1);
  return (
    <output class="state">
      <Status of={callback?.status ?? "waiting"} /> {last?.status_code ?? last?.outcome ?? ""}{" "}
      <a href={`/tasks/${id}`}>Open the task</a>
    </output>
  );
}

function RedeliverAll({ host, failed, expected, isNext }: Steps & { readonly isNext: boolean }) {
  const filters = new URLSearchParams({ callback: "failed", host });
  if (expected === null && failed === 0) return <p class="muted">No failed callback is left.</p>;
  if (expected === null) {
    return (
      <div class="buttons">
        <a class="button" href={`/redeliveries?${filters.toString()}`} data-dialog="">
          Send all {countText(failed)} again…
        </a>
      </div>
    );
  }
  if (expected.matched === 0) return <p class="muted">No failed callback is left.</p>;
  filters.set("until", String(Math.floor(Date.now() / 1000) + 1));
  return (
    <>
      <StartForm filters={filters} expected={expected} verb="Send all" isMain={isNext} />
      <p class="muted small">
        {expected.skipped === 0
          ? "None will be skipped."
          : `${countText(expected.skipped)} will be skipped: ${reasonsText(expected.skipped_because)}.`}
      </p>
    </>
  );
}

/**
 * A task whose callback is an example of how callbacks to a host fail. The callback is null when the task no longer
 * exists.
 */
interface Sample {
  readonly id: string;
  readonly callback: TaskCallback | null;
}

interface HostFailuresProps {
  readonly failures: ReturnType<typeof failuresOf>;
  readonly samples: readonly Sample[];
  readonly now: number;
}

/**
 * Shows how callbacks to a host fail: each combination of outcome and HTTP status with its likely cause. The cause that
 * is easiest to check comes first.
 */
function HostFailures({ failures, samples, now }: HostFailuresProps) {
  const { outcomes, accounts, is_capped: isCapped } = failures;
  if (outcomes.length === 0) return null;
  const kinds = outcomes.toSorted((a, b) => likelyCauseOf(a).rank - likelyCauseOf(b).rank);
  return (
    <>
      <Panel
        title="Why callbacks fail"
        aside={isCapped ? "among the newest failed callbacks" : undefined}
      >
        <ol class="kinds">
          {kinds.map((kind) => (
            <li class="kind">
              <div class="kind-head">
                <Status of={kind.outcome ?? "failed"} />
                {kind.status_code === null ? null : <strong>{kind.status_code}</strong>}
                <span class="muted">
                  {countText(kind.tasks)} {kind.tasks === 1 ? "callback" : "callbacks"}
                  {kind.last_at === null ? null : (
                    <>
                      , last <Ago at={kind.last_at * 1000} now={now} />
                    </>
                  )}
                </span>
              </div>
              <p>{likelyCauseOf(kind).text}</p>
              <SampleText id={kind.task_id} samples={samples} />
            </li>
          ))}
        </ol>
      </Panel>
      <Panel title="Whose callbacks">
        <p>
          {accounts.map(({ account, tasks }, at) => (
            <>
              {at === 0 ? "" : ", "}
              {account === null ? (
                "tasks without an account"
              ) : (
                <a href={`/accounts/${encodeURIComponent(account)}`}>{account}</a>
              )}{" "}
              <span class="muted">{countText(tasks)}</span>
            </>
          ))}
        </p>
      </Panel>
    </>
  );
}

/** Shows the receiver's last response to the callback of one task. */
function SampleText(props: { readonly id: string | null; readonly samples: readonly Sample[] }) {
  const { id, samples } = props;
  if (id === null) return null;
  const sample = samples.find((each) => each.id === id);
  const excerpt = sample?.callback?.attempts.findLast(
    ({ response_excerpt: text }) => text !== undefined,
  )?.response_excerpt;
  return (
    <p class="small muted">
      {excerpt === undefined || excerpt === "" ? null : (
        <>
          It answered “<Hostile text={excerpt} />
          ”.{" "}
        </>
      )}
      <a href={`/tasks/${id}`}>Open one of these tasks</a>
    </p>
  );
}

/** Section of a host's page with the numbers of callbacks to the host in the last 24 hours, in total and by hour. */
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
        <HourStrip counts={host.callbacks_by_hour} failed={host.failed_by_hour} />
        <HourLegend />
      </div>
    </Panel>
  );
}
