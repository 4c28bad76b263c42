import { REFUND_DELAYED_MS } from "../../../core/events/charge-refund-end.ts";
import { MINUTE_MS, SECOND_MS, toSeconds } from "../../../core/time.ts";
import type { Found, TroubledTask } from "../../../index-db/troubled-tasks.ts";
import { failingHosts } from "../failing-hosts.ts";
import { type Facts, get, post, type Trouble, trouble } from "./trouble.ts";

const NO_TASKS: Found = { tasks: [], isCapped: false };

/** Finds the hosts to which callbacks are failing at present. */
export function hostFailing({ index, now }: Facts): readonly Trouble[] {
  const hosts = index === null ? [] : failingHosts(index, now);
  return hosts.map(({ host, failed, sending, isCapped, since, outcome, statusCode }) => {
    const name = encodeURIComponent(host);
    const filter = `callback=failed&host=${name}`;
    return trouble({
      severity: "error",
      detail: `${host} does not take callbacks: ${statusCode ?? outcome ?? "no answer"}.`,
      since: toSeconds(since),
      tasks: { count: failed + sending, is_capped: isCapped },
      subject: { host, outcome, status_code: statusCode, failed, sending },
      actions: [
        get("inspect", `/v1/hosts/${name}`),
        get("list", `/v1/tasks?${filter}`),
        post("test", "/v1/callbacks/test"),
        post("redeliver", `/v1/redeliveries?${filter}`),
      ],
    });
  });
}

/**
 * Finds the connections whose API key is refused by the provider, with the number of open tasks of each. This number is
 * not known for a member of a pool, because a waiting task of the pool may go to any member.
 */
export function keyRefused({ connections, index }: Facts): readonly Trouble[] {
  return connections.flatMap(({ name, isPoolMember, keyRefusedAt }) => {
    if (keyRefusedAt === null) return [];
    const { tasks, isCapped } = index?.next ?? NO_TASKS;
    const waiting = tasks.filter((task) => isOpen(task) && task.provider === name);
    return trouble({
      severity: "error",
      detail: `The provider refuses the API key of ${name}.`,
      tasks: index === null || isPoolMember ? null : { count: waiting.length, is_capped: isCapped },
      subject: { connection: name, refused_at: keyRefusedAt },
      actions: [
        get("inspect", "/healthz"),
        get("list", `/v1/tasks?provider=${encodeURIComponent(name)}`),
      ],
    });
  });
}

/** Finds refunds that were not confirmed within five minutes after the end of the task. */
export function refundDelayed({ index, now }: Facts): readonly Trouble[] {
  const sinceOf = ({ finishedAt }: TroubledTask) => finishedAt ?? now;
  return aboutOldest(
    index?.next ?? NO_TASKS,
    (task) => isProbablyRefunding(task, now) && sinceOf(task) < now - REFUND_DELAYED_MS,
    sinceOf,
    { severity: "error", detail: "Refunds are not confirmed; the callbacks of these tasks wait." },
  );
}

/** Finds tasks that should have changed by now, but have not. */
export function tasksOverdue({ index, isPaused }: Facts): readonly Trouble[] {
  // During a pause callbacks wait on purpose, so overdue tasks are no fault.
  if (index === null || isPaused || index.open.overdue === 0) return [];
  const { overdue, overdueSince, isCapped, tasks } = index.open;
  return [
    trouble({
      severity: "error",
      detail: "Tasks have not changed by the time at which they should have.",
      since: overdueSince === null ? null : toSeconds(overdueSince),
      tasks: { count: overdue, is_capped: isCapped && overdue === tasks },
      actions: [post("wake", "/v1/wake")],
    }),
  ];
}

/** Finds open tasks of which it is unknown whether their submission has started a job. */
export function submitUnknown({ index }: Facts): readonly Trouble[] {
  const { tasks = 0, isCapped = false, oldestAt = null, oldestId = null } = index?.unknown ?? {};
  if (tasks === 0 || oldestAt === null || oldestId === null) return [];
  return [
    trouble({
      severity: "warning",
      detail: "It is not known whether the upstream has started the jobs of these tasks.",
      since: toSeconds(oldestAt),
      tasks: { count: tasks, is_capped: isCapped },
      subject: { task_id: oldestId },
      actions: [
        get("inspect", `/v1/tasks/${oldestId}`),
        get("list", "/v1/tasks?submission=unknown"),
      ],
    }),
  ];
}

/** Finds outputs that are not copied although their tasks have completed more than a quarter of an hour ago. */
export function copiesLate({ index }: Facts): readonly Trouble[] {
  const { lateTasks = 0, isCapped = false, oldestAt = null } = index?.copies ?? {};
  if (lateTasks === 0 || oldestAt === null) return [];
  return [
    trouble({
      severity: "warning",
      detail: "Outputs of these tasks have not been copied for more than 15 minutes.",
      since: toSeconds(oldestAt),
      tasks: { count: lateTasks, is_capped: isCapped },
    }),
  ];
}

/**
 * Finds open tasks for which more than half of the time from their creation to their deadline has passed. Tasks of
 * which it is unknown whether their submission has started a job are left out, because they end before the deadline.
 */
export function deadlineNear({ index, now }: Facts): readonly Trouble[] {
  return aboutOldest(
    index?.next ?? NO_TASKS,
    (task) => isOpen(task) && !awaitsJob(task) && halfOf(task) < now,
    halfOf,
    {
      severity: "warning",
      detail: "Tasks without a result are past half of their time until the deadline.",
    },
  );
}

/** Returns the time halfway between the creation of an open task and its deadline, in Unix milliseconds. */
function halfOf({ createdAt, dueAt }: TroubledTask): number {
  return (createdAt + (dueAt ?? Infinity)) / 2;
}

/**
 * Returns one problem for all tasks that a rule concerns, e.g. all tasks whose refund is delayed. The problem states
 * the number of these tasks and names the oldest, at which an operator should look first.
 * @param isConcerned tells whether the rule concerns a task.
 * @param sinceOf returns since when a task has the problem, in Unix milliseconds.
 * @returns an empty list when there are no such tasks.
 */
function aboutOldest(
  { tasks, isCapped }: Found,
  isConcerned: (task: TroubledTask) => boolean,
  sinceOf: (task: TroubledTask) => number,
  head: Pick<Trouble, "severity" | "detail">,
): readonly Trouble[] {
  const concerned = tasks.filter(isConcerned).toSorted((a, b) => sinceOf(a) - sinceOf(b));
  const [oldest] = concerned;
  if (oldest === undefined) return [];
  return [
    trouble({
      ...head,
      since: toSeconds(sinceOf(oldest)),
      tasks: { count: concerned.length, is_capped: isCapped },
      subject: { task_id: oldest.id },
      actions: [get("inspect", `/v1/tasks/${oldest.id}`)],
    }),
  ];
}

function awaitsJob({ submission }: TroubledTask): boolean {
  return submission !== null && submission !== "accepted";
}

function isOpen({ status }: TroubledTask): boolean {
  return status === "pending" || status === "processing";
}

/**
 * Tells whether an unsettled task probably waits for the confirmation of its refund. The index row does not state this,
 * so it is inferred. The task must have failed, without any attempt of its callback so far. If it has no callback, only
 * the refund can be under way. If it has one, the next action of the task must be due more than a second after its end:
 * only a repeated refund is due so late, because the first attempt is due at the end of the task, even while the relay
 * is paused. A task whose next action is more than a minute overdue does not count.
 */
export function isProbablyRefunding(task: TroubledTask, now: number): boolean {
  const { status, callback, attempts, dueAt, finishedAt } = task;
  if (status !== "failed" || attempts > 0) return false;
  if (callback === null) return true;
  const at = dueAt ?? 0;
  return at > now - MINUTE_MS && at > (finishedAt ?? now) + SECOND_MS;
}
