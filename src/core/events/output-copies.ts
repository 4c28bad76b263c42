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
  DeleteOutputEvent,
  NumberedCopy,
} from "./event.ts";
import type { Policy } from "../policy.ts";
import { planRetry } from "../record/retry.ts";
import { isNoticeWanted, noticeOf, withNotice } from "../record/operator-notice.ts";
import { orderedOutputs, type Output } from "../record/outputs.ts";
import { isTerminal, nextVersion, type TaskRecord, type TerminalTask } from "../record/task.ts";

/**
 * Returns the effect of the answer to an order to copy the outputs of a task. If the object that copies them has not
 * accepted the order, the next order is planned.
 */
export function endCopyOrder(
  record: TaskRecord | null,
  { recordedAt, isTaken }: CopiesOrderedEvent,
  now: number,
): Decision {
  if (record === null || !isTerminal(record)) return unchanged(record);
  // The order may be that of an earlier task with the same id.
  if (record.recordedAt !== recordedAt) return unchanged(record);
  const { outputs } = record;
  if (outputs === null || outputs.order === null) return unchanged(record);
  const order = isTaken ? null : planRetry(outputs.order, now);
  return changed({ ...record, outputs: { ...outputs, order } });
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
  const known = { ...record, version, outputs: { ...outputs, list, order: null } };
  return changed(withLossNotice(known, news, policy, now));
}

/**
 * Returns the effect of the operator's order to delete an output: from then on the relay refuses its link to this
 * output. When no output is left to copy or to keep, no further order is sent.
 */
export function deleteOutput(
  record: TaskRecord | null,
  { number }: DeleteOutputEvent,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (!isTerminal(record)) return conflict("task_open", record);
  const { outputs } = record;
  const output = outputs?.list.find((one) => one.number === number);
  if (outputs === null || output === undefined) return UNKNOWN_OUTPUT;
  if (output.state.kind === "deleted") return unchanged(record);
  const list = outputs.list.map((one) =>
    one === output ? { ...one, state: { kind: "deleted" } as const } : one,
  );
  const left = { ...outputs, list };
  const order = orderedOutputs(left).length > 0 ? outputs.order : null;
  return changed({ ...record, version: nextVersion(record, now), outputs: { ...left, order } });
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
