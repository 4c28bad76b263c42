import { type Bug, bug } from "./bug.ts";

const SERIES = "core/record/series.ts";
const DELIVERY = "core/events/delivery.ts";

export const CALLBACK_BUGS: readonly Bug[] = [
  bug("the number of an attempt starts anew with a redelivery", [
    SERIES,
    "begin({ ...callback, url, series, lastOrderKey }",
    "begin({ ...callback, lastNumber: 0, url, series, lastOrderKey }",
  ]),
  bug("one attempt too many", [SERIES, "series.started >= total", "series.started > total"]),
  bug("an interrupted attempt does not count", [
    SERIES,
    "  const attempts = [...callback.attempts, attempt]",
    "  if (event.outcome === 'interrupted') {\n    const series = { ...callback.series, started: callback.series.started - 1 };\n    return { ...callback, series, state: { kind: 'due', nextAttemptAt: now } };\n  }\n  const attempts = [...callback.attempts, attempt]",
  ]),
  bug("waits count from the start of an attempt", [
    SERIES,
    "ended.startedAt + ended.durationMs + waitMs",
    "ended.startedAt + waitMs",
  ]),
  bug("an order to send again has as many attempts as the schedule", [
    SERIES,
    "series.ordered ?? policy.scheduleMs.length",
    "policy.scheduleMs.length",
  ]),
  bug("a pause holds nothing back", [
    "core/record/callback.ts",
    "return Math.max(state.nextAttemptAt, policy.pausedUntil);",
    "return state.nextAttemptAt;",
  ]),
  bug(
    "an attempt starts before its time",
    [
      SERIES,
      'callback.state.kind !== "due" || dueAt(callback.state, policy) > now',
      'callback.state.kind !== "due"',
    ],
    [
      "core/duties/deliver.ts",
      "return { dueAt: dueAt(state, policy), step",
      "return { dueAt: dueAt(state, policy) - 1000, step",
    ],
  ),
  bug("the same order to send again starts another series", [
    DELIVERY,
    "  if (isRepeat) return unchanged(record);\n",
    "",
  ]),
  bug("a callback that is being sent is sent again by hand", [
    DELIVERY,
    '  if (!isSettled(record)) return conflict("series_running", record);\n  const url',
    "  const url",
  ]),
  bug("a redelivery that fails forgets that the callback was delivered", [
    SERIES,
    "return { ...callback, attempts, state: afterFailure(callback.series, attempt, policy) };",
    "return { ...callback, attempts, deliveredAt: null, state: afterFailure(callback.series, attempt, policy) };",
  ]),
  bug("an order without a key forgets the key of the one before", [
    SERIES,
    "order.idempotencyKey ?? callback.lastOrderKey",
    "order.idempotencyKey",
  ]),
  bug("an order goes to the URL that did not work", [
    SERIES,
    "begin({ ...callback, url, series, lastOrderKey }",
    "begin({ ...callback, url: previous?.url ?? url, series, lastOrderKey }",
  ]),
  bug("the second attempt of an order does not wait", [
    SERIES,
    "waitBeforeMs(policy, series.started, series.ordered !== null)",
    "waitBeforeMs(policy, series.ordered === null ? series.started : series.started - 1, series.ordered !== null)",
  ]),
];
