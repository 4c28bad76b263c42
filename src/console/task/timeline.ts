import type { Task } from "../../api/shapes/task-shape.ts";
import type { AttemptFacts, SubmissionFacts, TaskFacts } from "../../core/views/task-facts.ts";
import { durationText } from "../parts/format.ts";
import {
  between,
  type Break,
  MIN_BAR,
  type Placed,
  placed,
  type Segment,
  type Stretch,
} from "./timeline-scale.ts";

const MAX_SERIES_DRAWN = 4;
const LEAST_SERIES_MS = 2_000;

/** An event of a task, with its time and its horizontal position in the drawing. */
interface Mark {
  /** Time of the event, in Unix milliseconds. */
  readonly at: number;
  readonly x: number;
  readonly name: string;
  readonly kind: "event" | "money" | "result";
}

/** One attempt, drawn from its real start to its end, with the position of its planned time. */
export interface Bar {
  readonly number: number;
  readonly x: number;
  readonly width: number;
  /** Horizontal position of the attempt's planned time; null when this time is not known. */
  readonly plannedX: number | null;
  readonly outcome: string | null;
  readonly isRunning: boolean;
  readonly texts: readonly string[];
}

/** The wait before an attempt, with its horizontal positions in the drawing. */
interface Wait {
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly isAhead: boolean;
}

/** Parts of the drawing that shows a task's events and attempts on a time axis, with their positions. */
export interface Timeline {
  readonly segments: readonly Segment[];
  readonly breaks: readonly Break[];
  readonly marks: readonly Mark[];
  readonly bars: readonly Bar[];
  readonly waits: readonly Wait[];
  /** Horizontal position of the next attempt; null when no attempt is planned. */
  readonly nextX: number | null;
}

/** Credits of a task for the drawing of its timeline. (`TaskFacts` does not contain them.) */
interface TimelineDetails {
  /** Credits that were charged for the task; null when it costs nothing. */
  readonly credits: number | null;
  /** Credits that are returned after the task has completed; 0 when none are. */
  readonly released: number;
}

/**
 * Returns the parts of the drawing of a task's timeline.
 * @param now time up to which it is drawn, in Unix milliseconds.
 */
export function timelineOf(facts: TaskFacts, details: TimelineDetails, now: number): Timeline {
  const series = seriesOf(facts, now).slice(-MAX_SERIES_DRAWN);
  const events = eventsOf(facts, details);
  const end = facts.finishedAt ?? now;
  const upstream: Stretch = {
    title: `Upstream · ${durationText(end - facts.createdAt)}`,
    stations: ascending([...events.map(({ at }) => Math.min(at, end)), end]),
    weight: series.length === 0 ? 1 : 1.4,
    leastMs: 0,
    isCompressed: true,
  };
  const [first, ...later] = placed([upstream, ...series.map(({ stretch }) => stretch)]);
  if (first === undefined) throw new Error("a timeline has a first segment");
  const placeOf = (at: number) => (at > end ? (later[0]?.from ?? first.to) : first.xOf(at));
  const bars = series.flatMap(({ attempts }, at) =>
    attempts.map((attempt) => barOf(attempt, later[at] ?? first, facts, now)),
  );
  const lastPlace = later.at(-1) ?? first;
  const nextAt = facts.callback?.nextAttemptAt ?? null;
  return {
    segments: [first, ...later].map(({ title, from, to, durationMs }) => ({
      title,
      from,
      to,
      durationMs,
    })),
    breaks: [...[first, ...later].flatMap(({ breaks }) => breaks), ...between([first, ...later])],
    marks: events.map((event) => ({ ...event, x: placeOf(event.at) })),
    bars,
    waits: waitsOf(series, later, bars, nextAt, now),
    nextX: nextAt === null ? null : lastPlace.xOf(Math.max(nextAt, now)),
  };
}

interface Series {
  readonly number: number;
  readonly attempts: readonly AttemptFacts[];
  readonly stretch: Stretch;
}

function seriesOf({ callback }: TaskFacts, now: number): readonly Series[] {
  if (callback === null) return [];
  const { attempts, nextAttemptAt, series: present } = callback;
  const numbers = new Set([
    ...attempts.map(({ series }) => series),
    ...(nextAttemptAt === null ? [] : [present.number]),
  ]);
  return [...numbers].map((number) => {
    const own = attempts.filter(({ series }) => series === number);
    const ahead =
      number === present.number && nextAttemptAt !== null ? [Math.max(nextAttemptAt, now)] : [];
    const times = own.flatMap((attempt) => [attempt.dueAt, attempt.startedAt, endOf(attempt, now)]);
    const title = number === 1 ? "Callback" : `Redelivery ${number - 1}`;
    const count = own.length + (ahead.length > 0 ? 1 : 0);
    const weight = 0.8 + 0.5 * (count - 1);
    return {
      number,
      attempts: own,
      stretch: {
        title,
        stations: ascending([...times, ...ahead.filter((at) => at >= (times.at(-1) ?? 0))]),
        weight,
        leastMs: LEAST_SERIES_MS,
        isCompressed: false,
      },
    };
  });
}

function endOf({ startedAt, durationMs }: AttemptFacts, now: number): number {
  return durationMs === null ? Math.max(now, startedAt) : startedAt + durationMs;
}

/**
 * Returns the credits of a task for its timeline: those that were charged, and those that are returned after the task
 * has completed.
 */
export function creditDetails({ credits }: Pick<Task, "credits">): TimelineDetails {
  const { amount = null, final = amount } = credits ?? {};
  return { credits: amount, released: (amount ?? 0) - (final ?? 0) };
}

export function eventsOf(
  facts: TaskFacts,
  { credits, released }: TimelineDetails,
): readonly Omit<Mark, "x">[] {
  const { createdAt, finishedAt, refundedAt, releasedAt, upstreamTimes, submission } = facts;
  const paid = credits === null ? "" : `, charged ${credits}`;
  const events: (Omit<Mark, "x" | "at"> & { readonly at: number | null | undefined })[] = [
    { at: createdAt, name: `registered${paid}`, kind: "event" },
    { at: submission?.sentAt, name: "submitted", kind: "event" },
    { at: submission?.answeredAt, name: answerText(submission ?? null), kind: "event" },
    { at: attachedAt(facts), name: "attached", kind: "event" },
    { at: upstreamTimes?.hookAt, name: "hook", kind: "event" },
    { at: upstreamTimes?.askedAt, name: "asked", kind: "event" },
    { at: finishedAt, name: "result", kind: "result" },
    { at: releasedAt, name: `released ${released}`, kind: "money" },
    { at: refundedAt, name: `refunded${credits === null ? "" : ` ${credits}`}`, kind: "money" },
  ];
  return events
    .flatMap(({ at, ...rest }) => (at === null || at === undefined ? [] : [{ ...rest, at }]))
    .toSorted((a, b) => a.at - b.at);
}

/** Returns the name of the upstream's response to the submission, e.g. `accepted 200` or `refused 400`. */
function answerText(submission: SubmissionFacts | null): string {
  const { state = "sending", statusCode = null } = submission ?? {};
  const code = statusCode === null ? "" : ` ${statusCode}`;
  return state === "unknown" ? `answered${code}, outcome unknown` : `${state}${code}`;
}

/**
 * Returns the time at which a job was attached to a task.
 * @returns null when no job is attached, or when it was attached from the upstream's response to the submission.
 */
function attachedAt({ upstreamTimes, submission }: TaskFacts): number | null {
  const at = upstreamTimes?.attachedAt ?? null;
  const isByAnswer = submission?.state === "accepted" && submission.answeredAt === at;
  return isByAnswer ? null : at;
}

function barOf(attempt: AttemptFacts, segment: Placed, facts: TaskFacts, now: number): Bar {
  const { number, startedAt, dueAt, durationMs, outcome } = attempt;
  const x = segment.xOf(startedAt);
  const width = Math.max(MIN_BAR, segment.xOf(endOf(attempt, now)) - x);
  const isRunning = durationMs === null;
  const took = isRunning ? `runs for ${durationText(now - startedAt)}` : durationText(durationMs);
  return {
    number,
    x,
    width,
    plannedX: segment.xOf(dueAt),
    outcome,
    isRunning,
    texts: [took, latenessText(attempt, facts)].filter((text) => text !== ""),
  };
}

/**
 * Returns a text on how late an attempt began: for the first attempt the time since the result was accepted, for any
 * other the time since its planned start.
 */
export function latenessText(
  { number, dueAt, startedAt }: Pick<AttemptFacts, "number" | "dueAt" | "startedAt">,
  { finishedAt }: Pick<TaskFacts, "finishedAt">,
): string {
  if (number === 1 && finishedAt !== null)
    return `${durationText(startedAt - finishedAt)} after the result`;
  const lateMs = startedAt - dueAt;
  return lateMs <= 0 ? "on time" : `${durationText(lateMs)} late`;
}

function waitsOf(
  series: readonly Series[],
  places: readonly Placed[],
  bars: readonly Bar[],
  nextAt: number | null,
  now: number,
): readonly Wait[] {
  return series.flatMap(({ attempts }, at) => {
    const place = places[at];
    if (place === undefined) return [];
    const isLast = at === series.length - 1;
    const starts = [
      ...attempts.map(({ startedAt }) => startedAt),
      ...(isLast && nextAt !== null ? [nextAt] : []),
    ];
    return attempts.flatMap((attempt, index) => {
      const next = starts[index + 1];
      const bar = bars.find(({ number }) => number === attempt.number);
      if (next === undefined || bar === undefined) return [];
      const isAhead = isLast && index === attempts.length - 1;
      const ms = next - endOf(attempt, now);
      const text = ms <= 0 ? "due" : `${isAhead ? "waits" : "waited"} ${durationText(ms)}`;
      return [
        {
          from: bar.x + bar.width,
          to: place.xOf(Math.max(next, isAhead ? now : next)),
          text,
          isAhead,
        },
      ];
    });
  });
}

function ascending(times: readonly number[]): readonly number[] {
  return [...new Set(times)].toSorted((a, b) => a - b);
}
