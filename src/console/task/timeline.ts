import type { Task } from "../../api/shapes/task-shape.ts";
import type { AttemptFacts, SubmissionFacts, TaskFacts } from "../../core/views/task-facts.ts";
import { durationText } from "../parts/format.ts";
import { importantLabels, placedLabels, type PlacedLabel } from "./timeline-labels.ts";
import {
  between,
  MIN_BAR,
  type Placed,
  placed,
  type Segment,
  type Stretch,
} from "./timeline-scale.ts";

const MAX_SERIES_DRAWN = 4;
const LEAST_SERIES_MS = 2_000;
/**
 * Numbers of rows that labels can have: those of events above the axis, those of attempts below it. In more rows, a later
 * attempt would be above an earlier one.
 */
const [EVENT_ROWS, ATTEMPT_ROWS] = [4, 1];

/** An event in the life of a task. */
interface Event {
  /** Time of the event, in Unix milliseconds. */
  readonly at: number;
  /** Name of the event, which the time axis shows. */
  readonly name: string;
  /** Name of the event with what else is known of it, e.g. the HTTP status of an answer, for the list. */
  readonly fullName: string;
  readonly kind: "event" | "money" | "result";
  /** Importance of the event: of several without room for all their names on the axis, that with the lowest is named. */
  readonly rank: number;
}

/** An event of a task, with its horizontal position in the drawing. */
interface Mark extends Event {
  readonly x: number;
}

/** One attempt, drawn from its real start to its end, with the position of its planned time. */
export interface Bar {
  readonly number: number;
  readonly x: number;
  readonly width: number;
  /** Horizontal position of the attempt's planned time. */
  readonly plannedX: number;
  readonly outcome: string | null;
  readonly isRunning: boolean;
}

/** The wait before an attempt, with its horizontal positions in the drawing. */
interface Wait {
  readonly from: number;
  readonly to: number;
  readonly isAhead: boolean;
}

/**
 * Parts of the drawing that shows a task's events and attempts on a time axis, with their positions. The drawing has
 * only names; the list next to it has the times, durations and outcomes.
 */
export interface Timeline {
  readonly segments: readonly Segment[];
  /** Titles of the sections for which there is room. */
  readonly titles: readonly PlacedLabel[];
  /** Horizontal positions of the middles of the times that are drawn shortened. */
  readonly breaks: readonly number[];
  readonly marks: readonly Mark[];
  /** Names of the events for which there is room above the axis. */
  readonly names: readonly (Mark & PlacedLabel)[];
  readonly bars: readonly Bar[];
  /** Numbers of the attempts for which there is room below the axis. */
  readonly numbers: readonly (Bar & PlacedLabel)[];
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
    title: "Upstream",
    stations: ascending([...events.map(({ at }) => Math.min(at, end)), end]),
    weight: series.length === 0 ? 1 : 1.4,
    leastMs: 0,
    isCompressed: true,
  };
  const [first, ...later] = placed([upstream, ...series.map(({ stretch }) => stretch)]);
  if (first === undefined) throw new Error("a timeline has a first segment");
  const placeOf = (at: number) => {
    if (at <= end) return first.xOf(at);
    const begun = later.findLast(({ stations: [start = Infinity] }) => start <= at);
    return begun === undefined ? (later[0]?.from ?? first.to) : begun.xOf(at);
  };
  const marks = events.map((event) => ({ ...event, x: placeOf(event.at) }));
  const bars = series.flatMap(({ attempts }, at) =>
    attempts.map((attempt) => barOf(attempt, later[at] ?? first, now)),
  );
  const lastPlace = later.at(-1) ?? first;
  const nextAt = facts.callback?.nextAttemptAt ?? null;
  const segments = [first, ...later];
  return {
    segments: segments.map(({ title, from, to, durationMs }) => ({ title, from, to, durationMs })),
    titles: placedLabels(
      segments.map(({ title, from }) => ({ text: title, x: from })),
      1,
    ),
    breaks: [...segments.flatMap(({ breaks }) => breaks), ...between(segments)],
    marks,
    names: importantLabels(
      marks.map((mark) => ({ ...mark, text: mark.name })),
      EVENT_ROWS,
    ),
    bars,
    numbers: placedLabels(
      bars.map((bar) => ({ ...bar, text: `#${bar.number}` })),
      ATTEMPT_ROWS,
    ),
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

/** Returns the events of a task in the order in which they happened. */
export function eventsOf(
  facts: TaskFacts,
  { credits, released }: TimelineDetails,
): readonly Event[] {
  const { createdAt, finishedAt, refundedAt, releasedAt, upstreamTimes, submission } = facts;
  const registered = credits === null ? "registered" : `registered, charged ${credits}`;
  const refunded = credits === null ? "refunded" : `refunded ${credits}`;
  // Events of the same millisecond stay in this order.
  const events = [
    eventAt(createdAt, "registered", 1, registered),
    eventAt(submission?.sentAt, "submitted", 3),
    eventAt(submission?.answeredAt, answerName(submission), 4, answerText(submission)),
    eventAt(attachedAt(facts), "attached", 5),
    eventAt(upstreamTimes?.hookAt, "hook", 6),
    eventAt(upstreamTimes?.askedAt, "asked", 7),
    eventAt(finishedAt, "result", 0, "result", "result"),
    eventAt(refundedAt, "refunded", 2, refunded, "money"),
    eventAt(releasedAt, "released", 2, `released ${released}`, "money"),
  ];
  return events.flatMap((each) => each ?? []).toSorted((a, b) => a.at - b.at);
}

function eventAt(
  at: number | null | undefined,
  name: string,
  rank: number,
  fullName = name,
  kind: Event["kind"] = "event",
): Event | null {
  return at === null || at === undefined ? null : { at, name, fullName, kind, rank };
}

/** Returns the name of the upstream's response to the submission, e.g. `accepted`. */
function answerName(submission: SubmissionFacts | null): string {
  const state = submission?.state ?? "sending";
  return state === "unknown" ? "answered" : state;
}

/** Returns a text on the upstream's response to the submission, e.g. `accepted 200` or `refused 400`. */
function answerText(submission: SubmissionFacts | null): string {
  const { state = "sending", statusCode = null } = submission ?? {};
  const code = statusCode === null ? "" : ` ${statusCode}`;
  return `${answerName(submission)}${code}${state === "unknown" ? ", outcome unknown" : ""}`;
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

function barOf(attempt: AttemptFacts, segment: Placed, now: number): Bar {
  const { number, startedAt, dueAt, durationMs, outcome } = attempt;
  const x = segment.xOf(startedAt);
  const width = Math.max(MIN_BAR, segment.xOf(endOf(attempt, now)) - x);
  return {
    number,
    x,
    width,
    plannedX: segment.xOf(dueAt),
    outcome,
    isRunning: durationMs === null,
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
      const to = place.xOf(Math.max(next, isAhead ? now : next));
      return [{ from: bar.x + bar.width, to, isAhead }];
    });
  });
}

function ascending(times: readonly number[]): readonly number[] {
  return [...new Set(times)].toSorted((a, b) => a - b);
}
