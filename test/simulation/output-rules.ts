import type { KeptOutputs } from "../../src/core/duties/copy-order.ts";
import type { CopiesEndedEvent } from "../../src/core/events/event.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import type { Output, Outputs } from "../../src/core/record/outputs.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import { MINUTE, OUTPUT_LINKS, relayLink, SECOND } from "../core/builders.ts";
import { parsedBody } from "./callback-body.ts";
import { startTime } from "./callback-rules.ts";
import { type Answer, type Change, firstViolation, isEqual } from "./change.ts";
import type { Setting } from "./setting.ts";
import type { TaskHistory } from "./task-history.ts";

/** Time after which the order to copy outputs is repeated, in milliseconds. */
const REPEATED_MS = MINUTE;
/** Time before a planned attempt within which no order is sent, in milliseconds. */
const CLEARANCE_MS = 2_500;

/** Returns the links in a stored callback body; undefined when it has none. */
function linksOf({ body }: TerminalTask): readonly string[] | undefined {
  return parsedBody(body).output?.urls;
}

/** Stands for a file that was in the upstream's answer in the list of links that a result has reported. */
export const FILE = "a file";

/** Returns the links to the outputs of a task as its result has reported them; undefined when it has none. */
export function reportedLinks(task: TerminalTask): readonly string[] | undefined {
  const sources = new Map(task.outputs?.list.map(({ number, source }) => [number, source ?? FILE]));
  return linksOf(task)?.map((link, index) => sources.get(index + 1) ?? link);
}

/** Tells whether outputs of a task were in the upstream's answer. */
export function hasFiles(record: TaskRecord): boolean {
  const list = isTerminal(record) ? (record.outputs?.list ?? []) : [];
  return list.some(({ source }) => source === null);
}

/** Returns the outputs that an order to copy names: those that are not copied, and what was in the answer. */
export function orderedOf({ list, answer }: Outputs): readonly Output[] {
  const ordered = list.filter(
    ({ source, state }) => state.kind === "copying" || (source === null && state.kind === "kept"),
  );
  if (answer?.number !== 0) return ordered;
  const { number, bytes, contentType } = answer;
  const mediaType = contentType ?? "application/octet-stream";
  return [{ number, source: null, state: { kind: "kept", bytes, mediaType } }, ...ordered];
}

/** Returns the numbers of the deleted outputs whose copies may exist. */
export function unconfirmedIn({ list }: Outputs): readonly number[] {
  return list.filter(({ state }) => isUnconfirmed(state)).map(({ number }) => number);
}

function isUnconfirmed(state: Output["state"]): boolean {
  return state.kind === "deleted" && state.isUnconfirmed === true;
}

/** Checks that the end of a task decides all links to its outputs, by the configuration at this moment. */
export function linksFault({
  after,
  now,
  setting,
}: Pick<Change<null, TerminalTask>, "after" | "now" | "setting">): string | null {
  const expiresAtS = Math.floor((now + OUTPUT_LINKS.lifeMs) / SECOND);
  const sources = reportedLinks(after);
  const own = sources?.map((_, index) => relayLink(index + 1, expiresAtS));
  const { areOutputsKept } = setting;
  const { outputs } = after;
  return firstViolation({
    "links to outputs are those of the relay exactly where it keeps outputs": isEqual(
      linksOf(after),
      areOutputsKept ? own : sources,
    ),
    "links of the relay have an end": outputs === null || outputs.expiresAt === expiresAtS * SECOND,
    "only links of the relay are stored as outputs":
      (outputs !== null) === (areOutputsKept && sources !== undefined),
    "outputs are to be copied when their task ends, except files of the answer, which are kept":
      outputs === null ||
      outputs.list.every(({ source, state }) => {
        return state.kind === (source === null ? "kept" : "copying");
      }),
    "the order to copy is repeated after a minute":
      outputs === null || isEqual(outputs.order, { retryAt: now + REPEATED_MS, tries: 0 }),
  });
}

/** Checks how the outputs of a task change after its end. */
export function outputsFault(
  before: TerminalTask,
  after: TerminalTask,
  { history, setting, now }: Pick<Change, "history" | "setting" | "now">,
): string | null {
  const [from, to] = [before.outputs, after.outputs];
  if (from === null || to === null) {
    return firstViolation({ "the links to outputs stay": from === to });
  }
  const moved = to.list.filter(({ state }, index) => !isEqual(state, from.list[index]?.state));
  const earlier = new Map(from.list.map(({ number, state }) => [number, state]));
  const deleted = moved.filter(({ state }) => state.kind === "deleted");
  const isNew = ({ number }: Output) => earlier.get(number)?.kind !== "deleted";
  const confirmed = deleted.filter((output) => !isNew(output));
  const isDeletionNew = deleted.some((output) => isNew(output) && isUnconfirmed(output.state));
  const isDeletionLeft = unconfirmedIn(to).length > 0;
  const ended = moved.filter(({ state }) => state.kind !== "deleted");
  const lost = ended.filter(({ state }) => state.kind === "lost");
  // The end of one copy shows that an order was taken.
  const isNothingLeft = ended.length > 0 || orderedOf(to).length === 0;
  const isTold = after.notices.some(({ kind, version }) => {
    return kind === "output.lost" && version === after.version;
  });
  return firstViolation({
    "the links to outputs stay": isEqual(linksIn(from), linksIn(to)),
    "the place of the answer stays": isEqual(from.answer, to.answer),
    "the end of a copy stays": to.list.every(
      ({ state }, index) =>
        state.kind === "deleted" ||
        from.list[index]?.state.kind === "copying" ||
        isSame(state, from, index),
    ),
    "only an output that was ordered to be deleted is deleted": deleted.every(({ number }) =>
      history.deletedOutputs.has(number),
    ),
    "the deletion of an output that has or may get a copy is to be confirmed": deleted
      .filter(isNew)
      .every(({ number, state }) => {
        const kind = earlier.get(number)?.kind;
        return isUnconfirmed(state) === (kind === "copying" || kind === "kept");
      }),
    "a deletion is confirmed by an order that was taken": confirmed.every(({ number, state }) => {
      return !isUnconfirmed(state) && history.confirmedDeletions.has(number);
    }),
    "a deletion that is not confirmed is ordered": !isDeletionLeft || to.order !== null,
    "the order to delete is repeated after a minute, or with an order that is planned already":
      !isDeletionNew || isEqual(to.order, from.order ?? { retryAt: now + REPEATED_MS, tries: 0 }),
    "the end of a copy is one that was reported": ended.every(({ number, state }) =>
      history.copies.some((copy) => isEqual(copy, { number, state })),
    ),
    "copies of which an end is known are ordered no more":
      ended.length === 0 || isDeletionLeft || to.order === null,
    "an order that was taken is not planned again":
      from.order !== null || isDeletionNew || to.order === null,
    "an order that was not taken is planned again while outputs are to be copied":
      from.order === null || to.order !== null || isNothingLeft || history.isCopyOrderTaken,
    "a lost output is told to the operator":
      lost.length === 0 || isTold === setting.isOperatorNotified,
  });
}

/** Checks that the index row of a task counts the copies of its outputs as they are stored. */
export function rowCopiesFault(record: TaskRecord | null, row: IndexRow): string | null {
  const outputs = record !== null && isTerminal(record) ? record.outputs : null;
  let [kept, bytes, lost, copying] = [0, 0, 0, 0];
  for (const { state } of outputs?.list ?? []) {
    if (state.kind === "kept") [kept, bytes] = [kept + 1, bytes + state.bytes];
    if (state.kind === "lost") lost += 1;
    if (state.kind === "copying") copying += 1;
  }
  return firstViolation({
    "a row counts the copies that are kept": row.keptOutputs === kept && row.keptBytes === bytes,
    "a row counts the outputs that are lost": row.lostOutputs === lost,
    "a row counts the outputs that are being copied": row.copyingOutputs === copying,
  });
}

function linksIn({ expiresAt, list }: Outputs) {
  return [expiresAt, list.map(({ number, source }) => [number, source])];
}

function isSame(state: Output["state"], { list }: Outputs, index: number): boolean {
  return isEqual(state, list[index]?.state);
}

/** Checks the answer to an order to delete outputs of a task that has ended. */
export function deletionFault(
  { event, after, decision }: Pick<Answer, "event" | "after" | "decision">,
  before: TerminalTask,
): string | null {
  if (event.type !== "delete_outputs") return null;
  const { number } = event;
  const from = statesOf(before, number);
  const to = after !== null && isTerminal(after) ? statesOf(after, number) : [];
  const code = decision.kind === "reject" ? decision.rejection.code : null;
  return firstViolation({
    "an output that is ordered to be deleted is deleted":
      to.length === from.length && to.every(({ kind }) => kind === "deleted"),
    "an output without a link of the relay cannot be deleted":
      (number !== null && from.length === 0) === (code === "unknown_output"),
    "an output that is deleted again stays as it is":
      code !== null || from.some(({ kind }) => kind !== "deleted") || decision.kind === "unchanged",
  });
}

/** Returns the states of the output with this number, or of all outputs. */
function statesOf({ outputs }: TerminalTask, only: number | null): readonly Output["state"][] {
  const list = outputs?.list ?? [];
  return list.filter(({ number }) => only === null || number === only).map(({ state }) => state);
}

/** Records what the object that copies outputs has reported of this task. */
export function recordCopies(
  { copies }: TaskHistory,
  { recordedAt, ended }: CopiesEndedEvent,
  record: TaskRecord,
): void {
  if (!isTerminal(record) || record.recordedAt !== recordedAt) return;
  copies.push(...ended);
}

/** Checks that the copies of a task's outputs are deleted before the task is erased. */
export function deletedFault(record: TaskRecord, deleted: KeptOutputs | null): string | null {
  if (!isTerminal(record) || record.outputs === null) return null;
  const { list, expiresAt, answer } = record.outputs;
  const numbers = list.map(({ number }) => number);
  const all = answer?.number === 0 ? [0, ...numbers] : numbers;
  const outputs = all.map((number) => ({ number }));
  const { id: taskId, recordedAt } = record;
  return firstViolation({
    "copies are deleted before their task is erased": isEqual(deleted, {
      taskId,
      recordedAt,
      expiresAt,
      outputs,
    }),
  });
}

/**
 * Returns the latest time of the next order to copy outputs, in Unix milliseconds; Infinity for none.
 * @param startsAt time before which no overdue order can start, in Unix milliseconds; 0 when that is not known.
 */
export function orderDueTime(
  { outputs, callback, version }: TerminalTask,
  setting: Setting,
  startsAt: number,
): number {
  const at = outputs?.order?.retryAt ?? Infinity;
  if (at >= (outputs?.expiresAt ?? -Infinity)) return Infinity;
  const state = callback?.state;
  if (state?.kind === "in_flight") return Infinity;
  if (state?.kind !== "due") return at;
  const isInTheWay = Math.max(at, version, startsAt) + CLEARANCE_MS > startTime(state);
  return isInTheWay || setting.isPaused ? Infinity : at;
}
