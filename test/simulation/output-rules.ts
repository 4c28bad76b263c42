import type { KeptOutputs } from "../../src/core/duties/copy-order.ts";
import type { CopiesEndedEvent } from "../../src/core/events/event.ts";
import type { Output, Outputs } from "../../src/core/record/outputs.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import { MINUTE, OUTPUT_LINKS, relayLink, SECOND } from "../core/builders.ts";
import { parsedBody } from "./callback-body.ts";
import { type Change, firstViolation, isEqual } from "./change.ts";
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

/** Returns the links to the outputs of a task as its result has reported them; undefined when it has none. */
export function reportedLinks(task: TerminalTask): readonly string[] | undefined {
  const sources = new Map(task.outputs?.list.map(({ number, source }) => [number, source]));
  return linksOf(task)?.map((link, index) => sources.get(index + 1) ?? link);
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
    "outputs are to be copied when their task ends":
      outputs === null || outputs.list.every(({ state }) => state.kind === "copying"),
    "the order to copy is repeated after a minute":
      outputs === null || isEqual(outputs.order, { retryAt: now + REPEATED_MS, tries: 0 }),
  });
}

/** Checks how the outputs of a task change after its end. */
export function outputsFault(
  before: TerminalTask,
  after: TerminalTask,
  { history, setting }: Pick<Change, "history" | "setting">,
): string | null {
  const [from, to] = [before.outputs, after.outputs];
  if (from === null || to === null) {
    return firstViolation({ "the links to outputs stay": from === to });
  }
  const ended = to.list.filter(({ state }, index) => !isEqual(state, from.list[index]?.state));
  const lost = ended.filter(({ state }) => state.kind === "lost");
  const isTold = after.notices.some(({ kind, version }) => {
    return kind === "output.lost" && version === after.version;
  });
  return firstViolation({
    "the links to outputs stay": isEqual(linksIn(from), linksIn(to)),
    "the end of a copy stays": to.list.every(
      ({ state }, index) =>
        from.list[index]?.state.kind === "copying" || isSame(state, from, index),
    ),
    "the end of a copy is one that was reported": ended.every(({ number, state }) =>
      history.copies.some((copy) => isEqual(copy, { number, state })),
    ),
    "copies of which an end is known are ordered no more": ended.length === 0 || to.order === null,
    "an order that was taken is not planned again": from.order !== null || to.order === null,
    "a lost output is told to the operator":
      lost.length === 0 || isTold === setting.isOperatorNotified,
  });
}

function linksIn({ expiresAt, list }: Outputs) {
  return [expiresAt, list.map(({ number, source }) => [number, source])];
}

function isSame(state: Output["state"], { list }: Outputs, index: number): boolean {
  return isEqual(state, list[index]?.state);
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
  const { list, expiresAt } = record.outputs;
  const outputs = list.map(({ number, source }) => ({ number, source }));
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

/** Returns the latest time of the next order to copy outputs, in Unix milliseconds; Infinity for none. */
export function orderDueTime(
  { outputs, callback, version }: TerminalTask,
  setting: Setting,
): number {
  const at = outputs?.order?.retryAt ?? Infinity;
  if (at >= (outputs?.expiresAt ?? -Infinity)) return Infinity;
  const state = callback?.state;
  if (state?.kind === "in_flight") return Infinity;
  if (state?.kind !== "due") return at;
  const isInTheWay = Math.max(at, version) + CLEARANCE_MS > state.nextAttemptAt;
  return isInTheWay || setting.isPaused ? Infinity : at;
}
