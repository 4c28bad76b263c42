import type { TaskHistory } from "./task-history.ts";
import type { World } from "./world.ts";
import type { SimulatedLedger } from "./ledger.ts";
import { firstViolation } from "./change.ts";
import { releasesFault } from "./price-rules.ts";
import { NOTICE_TRIES } from "./retry-rules.ts";

/** Largest number of notices that a task keeps. */
const NOTICES_KEPT = 5;

/**
 * Returns the first rule that is broken at the end of a run, when all parties work and nothing is due; null
 * when none is broken.
 */
export function endsFault({ disk, checker, ledger, outside, hadNoticesOff }: World): string | null {
  const references = new Set(checker.pastHistories.map(({ chargeId }) => chargeId));
  const isEveryNoticeDue = !hadNoticesOff && checker.unconfirmedNotices < NOTICE_TRIES;
  const faults = checker.pastHistories.map(
    (history) => historyFault(history, ledger) ?? (isEveryNoticeDue ? noticeFault(history) : null),
  );
  return (
    firstViolation({
      "every task comes to its end": disk.durable.record === null,
      "nothing is under way": outside.openCalls.length === 0,
      "every booking belongs to a task": ledger.entries.every(({ reference }) =>
        references.has(reference),
      ),
    }) ??
    faults.find((fault) => fault !== null) ??
    null
  );
}

function historyFault(history: TaskHistory, ledger: SimulatedLedger): string | null {
  const { chargeId } = history;
  const { isVisible, isWithdrawn, end } = history.written;
  const isOwed = end?.status === "failed" || isWithdrawn;
  const endless = firstViolation({ "a task ends": !isVisible || isWithdrawn || end !== null });
  if (endless !== null || chargeId === null) return endless;
  const fault = firstViolation({
    "a task is charged once, or does not exist":
      ledger.count("charge", chargeId) === (isVisible || isWithdrawn ? 1 : 0),
    "a failure or a withdrawal is refunded once, and nothing else is":
      ledger.count("refund", chargeId) === (isOwed ? 1 : 0),
  });
  return fault ?? releasesFault(history, { ledger });
}

function noticeFault({ written, noticedVersions, isErased }: TaskHistory): string | null {
  const failures = [...written.failures];
  const isExcused = isErased || failures.length > NOTICES_KEPT;
  const isAllTold = isExcused || failures.every((version) => noticedVersions.has(version));
  return firstViolation({ "the operator gets a notice of each failed series": isAllTold });
}
