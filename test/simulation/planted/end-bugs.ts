import { type Bug, bug } from "./bug.ts";

const INTAKE = "core/events/intake.ts";
const POLLING = "core/events/polling.ts";
const ENDING = "core/events/ending.ts";

export const END_BUGS: readonly Bug[] = [
  bug(
    "a second terminal event is accepted",
    [
      INTAKE,
      'return conflict("conflicting_result", record)',
      "return changed({ ...record, version: record.version + 1, body: callbackBody(record, event.news, now) })",
    ],
    [INTAKE, "import { sameResult }", "import { callbackBody, sameResult }"],
  ),
  bug("a task is canceled after its end", [
    ENDING,
    '  if (isTerminal(record)) return conflict("task_settled", record);\n  return changed(finishCanceled(record, policy, now));',
    "  return changed(finishCanceled({ ...record, callbackUrl: null } as never, policy, now));",
  ]),
  bug("a second registration replaces the task", [
    INTAKE,
    'return record.status === "charging" ? CHARGING : conflict("task_exists", record);',
    'if (record.status === "charging") return CHARGING;',
  ]),
  bug("an unsigned hook is believed where the upstream can be asked", [
    "core/events/hooks.ts",
    "return !isPollable || (event.isSigned",
    "return !isPollable || (event.jobId !== 'never'",
  ]),
  bug("a poll after another job ends the task", [
    POLLING,
    "sameJob(upstream?.job ?? null, job) ? tracking.poll : null",
    "upstream !== null && job.id !== '' ? tracking.poll : null",
  ]),
  bug("a deadline is put off again and again", [
    POLLING,
    "record.tracking.isExtended || !deservesExtension(poll, event)",
    "!deservesExtension(poll, event)",
  ]),
  bug("a poll from before the deadline is the last one", [
    POLLING,
    "record.deadlineAt <= Math.min(now, event.askedAt)",
    "record.deadlineAt <= now",
  ]),
  bug("nothing watches the deadline", [
    "core/duties/deadline.ts",
    'return { dueAt: deadlineAt, step: () => ({ kind: "event", event: { type: "deadline" } }) };',
    "return null;",
  ]),
  bug("a change has no new version", [
    "core/record/task.ts",
    "Math.max((previous?.version ?? 0) + 1, now)",
    "Math.max(previous?.version ?? 0, now)",
  ]),
  bug("what is not settled can be erased", [
    ENDING,
    '  if (!isSettled(record)) return conflict("series_running", record);\n',
    "",
  ]),
  bug("retention counts from the end of the task", [
    "core/events/delivery.ts",
    "return { ...record, version, callback, expiresAt: now + policy.retentionMs };",
    "return { ...record, version, callback };",
  ]),
  bug("a task that ends is not kept", [
    "core/events/finish.ts",
    "expiresAt: now + policy.retentionMs",
    "expiresAt: now",
  ]),
  bug("a completion is dated at the creation of its task", [
    "core/events/finish.ts",
    "body: callbackBody(task, result, now)",
    "body: callbackBody(task, result, task.createdAt)",
  ]),
];
