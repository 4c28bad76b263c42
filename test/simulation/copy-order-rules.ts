import type { CopyOrder } from "../../src/core/duties/copy-order.ts";
import { isTerminal } from "../../src/core/record/task.ts";
import { asideFault } from "./call-rules.ts";
import { firstViolation, isEqual } from "./change.ts";
import type { SharedState } from "./object-host.ts";
import { orderedOf, unconfirmedIn } from "./output-rules.ts";

/** Checks an order to copy outputs. @param withinMs time limit of its answer; null for the first order. */
export function orderFault(
  order: CopyOrder,
  withinMs: number | null,
  shared: SharedState,
): string | null {
  // The first order leaves as soon as what was written before it is durable.
  const { record } = withinMs === null ? shared.disk.written : shared.disk.durable;
  if (record === null || !isTerminal(record) || record.outputs === null) {
    return "an order to copy belongs to outputs that are durable";
  }
  const { outputs, upstream, submission } = record;
  const key = submission?.customerKey;
  const fault = firstViolation({
    "an order has the outputs that are not copied, and the files of the answer": isEqual(
      order.outputs,
      orderedOf(outputs).map(({ number, source, state }) => {
        if (state.kind !== "kept") return { number, source };
        const { bytes, mediaType } = state;
        return { number, source, stored: { bytes, mediaType } };
      }),
    ),
    "an order has the deleted outputs whose copies may exist": isEqual(
      order.deleted,
      unconfirmedIn(outputs),
    ),
    "an order belongs to this life of the task": order.recordedAt === record.recordedAt,
    "an order has the account of the task": order.account === (record.account?.id ?? null),
    "an order has the end of the links": order.expiresAt === outputs.expiresAt,
    "an order has the key of the job":
      order.connection === (upstream?.connection ?? null) &&
      (key == null || key.kind === "dropped" || order.customerKey !== null),
  });
  if (fault !== null || withinMs === null) return fault;
  return asideFault(record, outputs.order?.retryAt ?? Infinity, withinMs, shared);
}
