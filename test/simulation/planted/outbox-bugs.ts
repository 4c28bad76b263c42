import { type Bug, bug } from "./bug.ts";

export const OUTBOX_BUGS: readonly Bug[] = [
  bug("a row counts as published that was never written", [
    "core/events/outbox.ts",
    "isPublished ? markPublished(publication, version) : planRewrite(publication, now)",
    "isPublished ? markPublished(publication, record.version) : planRewrite(publication, now)",
  ]),
  bug(
    "a write to the index that failed is not repeated",
    [
      "core/events/outbox.ts",
      "isPublished ? markPublished",
      "event_is(isPublished) ? markPublished",
    ],
    [
      "core/events/outbox.ts",
      "export function endPublication(",
      "const event_is = (_: boolean) => true;\n\nexport function endPublication(",
    ],
  ),
  bug("a notice that the operator did not take is forgotten", [
    "core/record/notice.ts",
    "if (isTaken || notice.tries + 1 >= MAX_TRIES) return [];",
    "return [];",
  ]),
  bug("the operator is not told of a redelivery that failed", [
    "core/events/delivery.ts",
    'next.callback?.state.kind !== "failed") return decision;',
    'next.callback?.state.kind !== "failed" || next.callback.series.number > 1) return decision;',
  ]),
  bug("a notice is tried once more than promised", [
    "core/record/notice.ts",
    "notice.tries + 1 >= MAX_TRIES",
    "notice.tries >= MAX_TRIES",
  ]),
];
