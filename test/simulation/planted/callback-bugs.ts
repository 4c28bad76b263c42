import { type Bug, bug } from "./bug.ts";

const CALLBACK = "core/record/callback.ts";
const TRANSITION = "core/transition.ts";

export const CALLBACK_BUGS: readonly Bug[] = [
  bug("the number of an attempt starts anew with a redelivery", [
    CALLBACK,
    "begin({ ...callback, url, series, lastOrderKey }",
    "begin({ ...callback, lastNumber: 0, url, series, lastOrderKey }",
  ]),
  bug("one attempt too many", [CALLBACK, "series.started >= total", "series.started > total"]),
  bug("an interrupted attempt does not count", [
    CALLBACK,
    "  const attempts = [...callback.attempts, attempt]",
    "  if (event.outcome === 'interrupted') {\n    const series = { ...callback.series, started: callback.series.started - 1 };\n    return { ...callback, series, state: { kind: 'due', nextAttemptAt: now } };\n  }\n  const attempts = [...callback.attempts, attempt]",
  ]),
  bug("waits count from the start of an attempt", [
    CALLBACK,
    "ended.startedAt + ended.durationMs + waitMs",
    "ended.startedAt + waitMs",
  ]),
  bug("an order to send again has as many attempts as the schedule", [
    CALLBACK,
    "series.ordered ?? policy.scheduleMs.length",
    "policy.scheduleMs.length",
  ]),
  bug("a pause holds nothing back", [
    CALLBACK,
    "return Math.max(state.nextAttemptAt, policy.pausedUntil);",
    "return state.nextAttemptAt;",
  ]),
  bug(
    "an attempt starts before its time",
    [
      CALLBACK,
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
    TRANSITION,
    "  if (isRepeat) return unchanged(record);\n",
    "",
  ]),
  bug("a callback that is being sent is sent again by hand", [
    TRANSITION,
    '  if (!isSettled(record)) return conflict("series_running", record);\n  const url',
    "  const url",
  ]),
  bug("a redelivery that fails forgets that the callback was delivered", [
    CALLBACK,
    "return { ...callback, attempts, state: afterFailure(callback.series, attempt, policy) };",
    "return { ...callback, attempts, deliveredAt: null, state: afterFailure(callback.series, attempt, policy) };",
  ]),
  bug("an order without a key forgets the key of the one before", [
    CALLBACK,
    "order.idempotencyKey ?? callback.lastOrderKey",
    "order.idempotencyKey",
  ]),
  bug("an order goes to the URL that did not work", [
    CALLBACK,
    "begin({ ...callback, url, series, lastOrderKey }",
    "begin({ ...callback, url: previous?.url ?? url, series, lastOrderKey }",
  ]),
  bug("the second attempt of an order does not wait", [
    CALLBACK,
    "waitBeforeMs(policy, series.started, series.ordered !== null)",
    "waitBeforeMs(policy, series.ordered === null ? series.started : series.started - 1, series.ordered !== null)",
  ]),
];
