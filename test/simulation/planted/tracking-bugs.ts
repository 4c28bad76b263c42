import { type Bug, bug } from "./bug.ts";

const HOOKS = "core/events/hooks.ts";
const TRACKING = "core/record/tracking.ts";

export const TRACKING_BUGS: readonly Bug[] = [
  bug("hooks of another job are judged at the attachment", [
    HOOKS,
    ".filter(({ jobId }) => isAbout(job, jobId))",
    ".filter(({ jobId }) => jobId !== job.endpoint)",
  ]),
  bug("what hooks said before the attachment is not judged", [
    HOOKS,
    'return next.kind === "changed" ? next : decision;',
    'return next.kind === "reject" ? next : decision;',
  ]),
  bug("another attachment lets a deadline be put off again", [
    HOOKS,
    "tracking: { ...record.tracking, poll, keptHooks: [] },",
    "tracking: { poll, keptHooks: [], isExtended: false },",
  ]),
  bug("only the last hook before the attachment is kept", [
    TRACKING,
    "keptHooks: [...others, hook]",
    "keptHooks: [...others.slice(others.length), hook]",
  ]),
  bug("a nudge does not hasten the poll", [
    HOOKS,
    "{ ...nudge(tracking.poll, now), isOutputMissing }",
    "{ ...tracking.poll, isOutputMissing, at: Math.max(tracking.poll.at, nudge(tracking.poll, now).at) }",
  ]),
  bug("polls do not back off", [
    TRACKING,
    "const tries = plan.tries + 1;",
    "const { tries } = plan;",
  ]),
  bug("an upstream that wants to be left alone is asked again", [
    TRACKING,
    "now + Math.max(gapMs, retryAfterMs ?? 0)",
    "now + gapMs",
  ]),
  bug("a poll says that it left when it was due", [
    "task/calls.ts",
    "const { taskId, connection, job, nudges } = step.poll;",
    "const { taskId, connection, job, nudges, createdAt } = step.poll;\n      now = createdAt;",
  ]),
  bug("a provider's own limit is not kept", [
    "core/duties/poll.ts",
    "const dueAt = Math.max(wantedAt, notBefore);",
    "const dueAt = notBefore > wantedAt ? wantedAt : Math.max(wantedAt, notBefore);",
  ]),
  bug("a poll that tells of progress shows none", [
    "core/events/polling.ts",
    'if (news?.status !== "processing" || task.status === "processing") return next;',
    'if (news?.status !== "queued" || task.status === "processing") return next;',
  ]),
];
