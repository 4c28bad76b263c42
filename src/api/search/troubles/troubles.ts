import { HOUR_MS, MINUTE_MS, SECOND_MS, toSeconds } from "../../../core/time.ts";
import { quantile } from "../../../index-db/buckets.ts";
import { histogramOf } from "../../../index-db/found-late.ts";
import { ALMOST_FULL_SHARE, FILLING_SHARE } from "../../../index-db/limits.ts";
import {
  copiesLate,
  deadlineNear,
  hostFailing,
  keyRefused,
  refundDelayed,
  submitUnknown,
  tasksOverdue,
} from "./task-rules.ts";
import { type Facts, get, type Trouble, trouble } from "./trouble.ts";

/**
 * Time in milliseconds within which a change of a task should be in the index. The index counts as lagging when more
 * than one in twenty of the tasks of the last hours took longer.
 */
const LAG_MS = MINUTE_MS;
/** Longest time in milliseconds for which a submission should wait for a place: half of the default of `QUEUE_MINUTES`. */
const LONG_WAIT_MS = 30 * MINUTE_MS;
const HEALTH = [get("inspect", "/healthz")];
const STATS = [get("inspect", "/v1/stats")];

/**
 * The rules, i.e. functions that find the present problems of the relay. The name of a rule becomes the `kind` of its
 * problems.
 */
const RULES = {
  host_failing: hostFailing,
  key_refused: keyRefused,
  funds_refused: fundsRefused,
  refund_delayed: refundDelayed,
  tasks_overdue: tasksOverdue,
  submit_unknown: submitUnknown,
  queue_waits: queueWaits,
  copies_late: copiesLate,
  deadline_near: deadlineNear,
  index_lagging: indexLagging,
  index_full: indexFull,
  hooks_missing: hooksMissing,
  answer_unclear: answerUnclear,
  paused,
  host_paused: hostPaused,
  configuration,
} as const satisfies Readonly<Record<string, (facts: Facts) => readonly Trouble[]>>;

const SEVERITIES = ["error", "warning", "notice"];

/**
 * Returns the present problems of the relay with their `kind`: first those of the severity `error`, then `warning`,
 * then `notice`.
 */
export function troublesOf(facts: Facts): readonly (Trouble & { readonly kind: string })[] {
  return Object.entries(RULES)
    .flatMap(([kind, rule]) => rule(facts).map((found) => ({ kind, ...found })))
    .toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

/** Finds the connections whose provider refuses submissions because the account there has no money left. */
function fundsRefused({ connections }: Facts): readonly Trouble[] {
  return connections
    .filter(({ fundsRefusedAt }) => fundsRefusedAt !== null)
    .map(({ name, fundsRefusedAt }) =>
      trouble({
        severity: "error",
        detail: `The provider refuses the jobs of ${name}: the account there has no money left.`,
        subject: { connection: name, refused_at: fundsRefusedAt },
        actions: HEALTH,
      }),
    );
}

/** Finds the connections at which a submission has waited for a place for more than half an hour. */
function queueWaits({ connections, now }: Facts): readonly Trouble[] {
  return connections.flatMap(({ name, waiting, waitingSince: since }) => {
    if (since === null || since * SECOND_MS > now - LONG_WAIT_MS) return [];
    return trouble({
      severity: "warning",
      detail: `Submissions have waited for a place of ${name} for more than half an hour.`,
      since,
      tasks: { count: waiting, is_capped: false },
      subject: { connection: name },
      actions: [...HEALTH, get("list", "/v1/tasks?submission=queued")],
    });
  });
}

function indexLagging({ index, now }: Facts): readonly Trouble[] {
  const lags = (index?.counts.latencies ?? []).filter(
    ({ measure, hour }) => measure === "index" && hour > now - 2 * HOUR_MS,
  );
  const { counts } = histogramOf(lags.map((lag) => ({ ...lag, totalMs: 0 })));
  const lagMs = quantile(counts, 0.95);
  if (lagMs === null || lagMs <= LAG_MS) return [];
  const detail = `One settled task in twenty reaches the index ${Math.round(lagMs / 1000)} s late or later.`;
  return [trouble({ severity: "warning", detail, subject: { lag_ms: lagMs }, actions: STATS })];
}

function indexFull({ index, maxIndexBytes }: Facts): readonly Trouble[] {
  const bytes = index?.open.sizeBytes ?? 0;
  const share = bytes / maxIndexBytes;
  if (share < FILLING_SHARE) return [];
  const isAlmostFull = share >= ALMOST_FULL_SHARE;
  const detail = `A database of the index is at least ${isAlmostFull ? 80 : 60} % full.`;
  const severity = isAlmostFull ? "warning" : "notice";
  return [trouble({ severity, detail, subject: { bytes }, actions: STATS })];
}

function hooksMissing({ connections }: Facts): readonly Trouble[] {
  return connections
    .filter(({ areHooksMissing }) => areHooksMissing)
    .map(({ name }) =>
      trouble({
        severity: "warning",
        detail: `No hooks come from ${name} although they are expected; its jobs are polled.`,
        subject: { connection: name },
        actions: HEALTH,
      }),
    );
}

function answerUnclear({ connections }: Facts): readonly Trouble[] {
  return connections
    .filter(({ unclearAt }) => unclearAt !== null)
    .map(({ name, unclearAt }) =>
      trouble({
        severity: "warning",
        detail: `${name} has answered a poll in a way that is not understood.`,
        since: unclearAt,
        subject: { connection: name },
        actions: HEALTH,
      }),
    );
}

function paused({ isPaused }: Facts): readonly Trouble[] {
  const detail = "PAUSED is on: callbacks and polls wait.";
  const fields = { severity: "warning", detail, subject: { variable: "PAUSED" } } as const;
  return isPaused ? [trouble(fields)] : [];
}

/** Finds the hosts to which no callbacks are sent because somebody has paused them. */
function hostPaused({ pausedHosts }: Facts): readonly Trouble[] {
  return pausedHosts.map(({ host, since, until, by }) => {
    const name = encodeURIComponent(host);
    return trouble({
      severity: "warning",
      detail: `Callbacks to ${host} wait: the host is paused.`,
      since: toSeconds(since),
      subject: { host, paused_until: toSeconds(until), by },
      actions: [
        get("inspect", `/v1/hosts/${name}`),
        get("list", `/v1/tasks?callback=paused&host=${name}`),
      ],
    });
  });
}

/** Finds doubtful settings of the relay, except `PAUSED`, which the rule `paused` reports. */
function configuration({ warnings }: Facts): readonly Trouble[] {
  return warnings
    .filter(({ path }) => path !== "PAUSED")
    .map(({ path, message }) =>
      trouble({
        severity: "notice",
        detail: `${path} ${message}.`,
        subject: { variable: path },
        actions: HEALTH,
      }),
    );
}
