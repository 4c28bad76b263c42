import {
  changed,
  conflict,
  type Decision,
  unchanged,
  UNKNOWN_OUTPUT,
  UNKNOWN_TASK,
} from "./decision.ts";
import type {
  CopiesEndedEvent,
  CopiesOrderedEvent,
  DeleteOutputsEvent,
  NumberedCopy,
} from "./event.ts";
import type { Policy } from "../policy.ts";
import { planRetry } from "../record/retry.ts";
import { isNoticeWanted, noticeOf, withNotice } from "../record/operator-notice.ts";
import {
  orderedOutputs,
  type Output,
  type Outputs,
  type OutputState,
  plannedOrder,
  unconfirmedDeletions,
} from "../record/outputs.ts";
import { isTerminal, nextVersion, type TaskRecord, type TerminalTask } from "../record/task.ts";

/**
 * Returns the effect of the answer to an order to copy the outputs of a task. If the object that copies them has not
 * accepted the order, or an output was deleted that the order did not name, the next order is planned.
 */
export function endCopyOrder(
  record: TaskRecord | null,
  { recordedAt, isTaken, deleted }: CopiesOrderedEvent,
  now: number,
): Decision {
  if (record === null || !isTerminal(record)) return unchanged(record);
  // The order may be that of an earlier task with the same id.
  if (record.recordedAt !== recordedAt) return unchanged(record);
  const { outputs } = record;
  if (outputs === null || outputs.order === null) return unchanged(record);
  if (!isTaken) {
    return changed({ ...record, outputs: { ...outputs, order: planRetry(outputs.order, now) } });
  }
  const list = outputs.list.map((output) =>
    output.state.kind === "deleted" && deleted.includes(output.number)
      ? { ...output, state: { kind: "deleted" } as const }
      : output,
  );
  return changed({ ...record, outputs: withoutTakenOrder({ ...outputs, list }) });
}

/** Returns the outputs after the object that keeps them has accepted an order. A deletion that it lacks stays planned. */
function withoutTakenOrder(outputs: Outputs): Outputs {
  return unconfirmedDeletions(outputs).length > 0 ? outputs : { ...outputs, order: null };
}

/**
 * Returns the effect of a report that the copying of some outputs of a task has ended. For each output only the first
 * report counts. The operator gets a notice about outputs that could not be copied.
 */
export function endCopies(
  record: TaskRecord | null,
  { recordedAt, ended }: CopiesEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isTerminal(record) || record.recordedAt !== recordedAt) {
    return unchanged(record);
  }
  const { outputs } = record;
  if (outputs === null) return unchanged(record);
  const list = outputs.list.map((output) => afterCopy(output, ended));
  const news = list.filter((output, index) => output !== outputs.list[index]);
  if (news.length === 0) return unchanged(record);
  const version = nextVersion(record, now);
  const known = { ...record, version, outputs: withoutTakenOrder({ ...outputs, list }) };
  return changed(withLossNotice(known, news, policy, now));
}

/**
 * Returns the effect of an order to delete an output, or all that have links of the relay. The copies are deleted by an
 * order to the object that keeps them, which is repeated until it is confirmed. The relay refuses the link to a deleted
 * output as soon as there is no copy.
 */
export function deleteOutputs(
  record: TaskRecord | null,
  { number }: DeleteOutputsEvent,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (!isTerminal(record)) return conflict("task_open", record);
  const { outputs } = record;
  const list = (outputs?.list ?? []).filter((one) => number === null || one.number === number);
  if (number !== null && list.length === 0) return UNKNOWN_OUTPUT;
  const deleted = new Set(list.filter(({ state }) => state.kind !== "deleted"));
  if (outputs === null || deleted.size === 0) return unchanged(record);
  const left = outputs.list.map((one) =>
    deleted.has(one) ? { ...one, state: deletedFrom(one.state) } : one,
  );
  const after = { ...outputs, list: left };
  const order = orderAfter(after, now);
  return changed({ ...record, version: nextVersion(record, now), outputs: { ...after, order } });
}

/** Returns the state of an output after its deletion. It is to be confirmed if the output has a copy, or may get one. */
function deletedFrom({ kind }: OutputState): OutputState {
  const mayHaveCopy = kind === "copying" || kind === "kept";
  return { kind: "deleted", ...(mayHaveCopy && { isUnconfirmed: true }) };
}

/** Returns the plan of the order to copy outputs after some were deleted. Null when none is left to copy or delete. */
function orderAfter(outputs: Outputs, now: number): Outputs["order"] {
  if (unconfirmedDeletions(outputs).length > 0) return outputs.order ?? plannedOrder(now);
  return orderedOutputs(outputs).length > 0 ? outputs.order : null;
}

function afterCopy(output: Output, ended: readonly NumberedCopy[]): Output {
  if (output.state.kind !== "copying") return output;
  const end = ended.find(({ number }) => number === output.number);
  return end === undefined ? output : { ...output, state: end.state };
}

function withLossNotice(
  record: TerminalTask,
  ended: readonly Output[],
  policy: Policy,
  now: number,
): TerminalTask {
  const lost = ended.flatMap(({ number, state }) =>
    state.kind === "lost" ? { number, reason: state.reason } : [],
  );
  if (lost.length === 0 || !isNoticeWanted(policy, "output.lost")) return record;
  const notice = noticeOf("output.lost", record.version, now, { outputs: lost });
  return { ...record, notices: withNotice(record.notices, notice) };
}
