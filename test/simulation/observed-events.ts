import {
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import type { Callback } from "../../src/core/record/callback.ts";
import type { Change } from "./change.ts";
import {
  QUEUE_TIMEOUT_CONTENT,
  storedResult,
  SUBMIT_UNKNOWN_CONTENT,
  TIMEOUT_CONTENT,
} from "./end-rules.ts";
import { isUnopened, observedWaits } from "./callback-rules.ts";

/** Names of the ends of a task that no event from outside causes, by their content. */
const OWN_ENDS: ReadonlyMap<string, string> = new Map([
  [TIMEOUT_CONTENT, "its deadline"],
  [SUBMIT_UNKNOWN_CONTENT, "a submission with an unknown outcome"],
  [QUEUE_TIMEOUT_CONTENT, "a call that has waited for too long"],
]);

/** Returns names of the events that a commit shows. @param source source of the last event. */
export function observedEvents({ before, after }: Change, source: string): readonly string[] {
  const submitted = observedSubmission(before, after);
  const canceled = observedCancellation(before, after);
  if (!isTerminal(after)) {
    return isOpen(after) ? [...waiting(after), ...submitted, ...canceled] : submitted;
  }
  const { callback } = after;
  const attempts = callback?.attempts ?? [];
  const isEnd = before === null || !isTerminal(before);
  const by = isEnd ? (OWN_ENDS.get(storedResult(after).content) ?? source) : source;
  const seen: readonly (readonly [what: string, isSeen: boolean])[] = [
    [`a task ends by ${by}`, isEnd],
    ["a result is too large", isEnd && after.body.includes("too large to be stored")],
    ["a callback is redelivered", callback !== null && callback.series.number > 1],
    [`attempt ${attempts.length} is interrupted`, attempts.at(-1)?.outcome === "interrupted"],
    ["a series fails", callback?.state.kind === "failed"],
    ["a schedule of a task is used up", isUsedUp(after)],
    ["a release is booked", isReleased(after)],
    ["a copy is kept", hasCopy(after, "kept")],
    ["a copy is lost", hasCopy(after, "lost")],
    ["an output is deleted", hasCopy(after, "deleted")],
  ];
  return [
    ...submitted,
    ...canceled,
    ...observedWaits(callback),
    ...observedRests(before, after),
    ...observedEndpoint(before, after),
    ...seen.flatMap(([what, isSeen]) => (isSeen ? [what] : [])),
  ];
}

/** Returns names of the facts about the endpoint of an ended task that a commit shows. */
function observedEndpoint(
  before: TaskRecord | null,
  { callback }: TerminalTask,
): readonly string[] {
  if (callback?.terms?.endpoint !== undefined) return ["an endpoint gets a callback"];
  const open = before !== null && !isTerminal(before) ? before : null;
  const isUntold = callback === null && open?.callbackTerms?.endpoint !== undefined;
  return isUntold ? ["a task ends without telling its endpoint"] : [];
}

/** Returns names of the facts about the pause of the receiver's host that a commit shows. */
function observedRests(before: TaskRecord | null, after: TerminalTask): readonly string[] {
  const { callback } = after;
  const isUnsent = callback !== null && isUnopened(callbackOf(before), callback);
  return [
    ...(isResting(after) ? ["an attempt rests"] : []),
    ...(isUnsent ? ["a started attempt rests"] : []),
    ...(isResting(before) && !isResting(after) ? ["a resting attempt goes on"] : []),
  ];
}

function callbackOf(record: TaskRecord | null): Callback | null {
  return record !== null && isTerminal(record) ? record.callback : null;
}

/** Tells whether an attempt of the callback rests because its receiver's host is paused. */
function isResting(record: TaskRecord | null): boolean {
  const state = callbackOf(record)?.state;
  return state?.kind === "due" && state.rest !== undefined;
}

function isUsedUp({ callback }: TerminalTask): boolean {
  const isAutomatic = callback?.series.ordered === null;
  return (
    isAutomatic && callback.terms?.scheduleMs !== undefined && callback.state.kind === "failed"
  );
}

function isReleased({ credits }: TerminalTask): boolean {
  return credits?.state.kind === "released";
}

function hasCopy({ outputs }: TerminalTask, kind: "kept" | "lost" | "deleted"): boolean {
  return outputs?.list.some(({ state }) => state.kind === kind) === true;
}

/** Returns names of the facts about the submission of a task that a commit shows. */
function observedSubmission(before: TaskRecord | null, after: TaskRecord): readonly string[] {
  return [...observedState(before, after), ...observedKey(before, after)];
}

/** Returns names of the facts about the customer's key of a task that a commit shows. */
function observedKey(before: TaskRecord | null, after: TaskRecord): readonly string[] {
  const [from, to] = [before?.submission?.customerKey, after.submission?.customerKey];
  if (from?.kind !== "sealed" || to == null) return [];
  if (to.kind === "dropped") return ["a customer's key is dropped"];
  if (from.unreadableSince === to.unreadableSince) return [];
  return [`a customer's key becomes ${to.unreadableSince === null ? "readable" : "unreadable"}`];
}

/** Returns the name of the event that a submission gets a state in which its job is not known. */
function notAccepted(state: string, after: TaskRecord): string {
  if (after.submission?.isCall === true) {
    return `a call becomes ${state}${isTerminal(after) ? ", and its task ends" : ""}`;
  }
  return state === "unknown" && isTerminal(after)
    ? "a submission of unknown outcome fails its task at once"
    : `a submission becomes ${state}`;
}

/** Returns names of the facts about the state of a submission that a commit shows. */
function observedState(before: TaskRecord | null, after: TaskRecord): readonly string[] {
  const [from, to] = [before?.submission?.state, after.submission?.state];
  if (to === undefined || from === undefined) return [];
  const isWithdrawn = before?.status !== "charging" && after.status === "charging";
  if (isWithdrawn) return ["a submission is refused or not sent, and its price returned"];
  if (from.kind === to.kind) return [];
  if (to.kind !== "accepted") return [notAccepted(to.kind, after)];
  const how = to.answeredAt === null ? "without its answer" : "by its answer";
  return [`a submission that was ${from.kind} is accepted ${how}`];
}

/** Returns names of the facts about the cancellation of a task that a commit shows. */
function observedCancellation(before: TaskRecord | null, after: TaskRecord): readonly string[] {
  const [from, to] = [before?.cancellation ?? null, after.cancellation];
  if (to === null) return [];
  const isBegun = from?.endsAt == null && to.endsAt !== null;
  const isMoved = from?.state.kind !== to.state.kind;
  const isCompleted = after.status === "completed" && before?.status !== "completed";
  return [
    ...(isBegun ? ["a job is canceled at the deadline"] : []),
    ...(isMoved ? [`a cancellation becomes ${to.state.kind}`] : []),
    ...(isCompleted ? ["a result counts in spite of an order to cancel"] : []),
  ];
}

function waiting({ tracking }: OpenTask): readonly string[] {
  const kept = tracking.keptHooks.length > 0 ? ["a hook is kept"] : [];
  return tracking.isExtended ? [...kept, "a deadline is extended"] : kept;
}

/** Summarises a record for the trace. */
export function summary(record: TaskRecord): string {
  const { status, version } = record;
  if (!isTerminal(record)) return `${status} v${version}`;
  const { credits, callback } = record;
  const state = JSON.stringify(callback?.state ?? null);
  const series = callback === null ? "" : ` series ${callback.series.number}`;
  return `${status} v${version} credits ${credits?.state.kind ?? "none"} callback ${state}${series}`;
}
