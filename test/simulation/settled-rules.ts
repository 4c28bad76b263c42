import type { Story } from "./story.ts";
import type { World } from "./world.ts";
import type { Books } from "./books.ts";
import { untrue } from "./change.ts";
import { NOTICE_TRIES } from "./retry-rules.ts";

/** Notices that a task keeps. */
const NOTICES_KEPT = 5;

/** What must be true when everything works again and nothing is due any more; null: all of it is. */
export function endsFault({ disk, witness, books, outside, wasUntold }: World): string | null {
  const references = new Set(witness.past.map(({ chargeId }) => chargeId));
  const isEveryNoticeDue = !wasUntold && witness.untaken < NOTICE_TRIES;
  const faults = witness.past.map(
    (story) => storyFault(story, books) ?? (isEveryNoticeDue ? noticeFault(story) : null),
  );
  return (
    untrue(
      ["every task comes to its end", disk.durable.record === null],
      ["nothing is under way", outside.flights.length === 0],
      [
        "every booking belongs to a task",
        books.entries.every(({ reference }) => references.has(reference)),
      ],
    ) ??
    faults.find((fault) => fault !== null) ??
    null
  );
}

function storyFault(story: Story, books: Books): string | null {
  const { chargeId } = story;
  const { isVisible, end } = story.written;
  const isFailed = end?.status === "failed";
  const endless = untrue(["a task ends", !isVisible || end !== null]);
  if (endless !== null || chargeId === null) return endless;
  return untrue(
    [
      "a task is charged once, or does not exist",
      books.count("charge", chargeId) === (isVisible ? 1 : 0),
    ],
    [
      "a failure is refunded once, and nothing else is",
      books.count("refund", chargeId) === (isFailed ? 1 : 0),
    ],
  );
}

function noticeFault({ written, told, isErased }: Story): string | null {
  const failures = [...written.failures];
  const isExcused = isErased || failures.length > NOTICES_KEPT;
  const isAllTold = isExcused || failures.every((version) => told.has(version));
  return untrue(["the operator is told of every series that failed", isAllTold]);
}
