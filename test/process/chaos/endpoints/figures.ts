import { Counters } from "../counters.ts";
import type { EndpointChange } from "./endpoint-history.ts";
import { DEFAULT } from "./plan.ts";
import { endpointKey, type Evidence, hostOf, isProgress, type Recording } from "./recording.ts";

/** Returns the figures of a recording. */
export function figuresOf(recording: Recording): Counters {
  const counters = new Counters();
  for (const changes of recording.changes.values()) countChanges(counters, changes);
  for (const each of recording.evidence) countTask(counters, each);
  counters.add("pauses", recording.pauses.length);
  counters.add("POSTs after a change of the endpoint", postsAfterChange(recording));
  counters.add("callbacks held by a pause", heldByPauses(recording));
  return counters;
}

function countChanges(counters: Counters, changes: readonly EndpointChange[]): void {
  for (const [i, { state }] of changes.entries()) {
    const before = changes[i - 1]?.state ?? null;
    if (state === null) counters.add("endpoints deleted");
    else if (before === null) counters.add("endpoints created");
    // Only a replacement gives the endpoint another URL.
    else counters.add(state.url === before.url ? "secrets rotated" : "endpoints replaced");
  }
}

function countTask(counters: Counters, { history, task, posts }: Evidence): void {
  const { registered, ended, orders } = history;
  const attempts = task?.callback?.attempts ?? [];
  counters.add(registered?.isRefused === true ? "tasks refused" : "tasks");
  counters.add("POSTs", posts.length);
  counters.add("progress callbacks", posts.filter(isProgress).length);
  counters.add("ends not told", ended !== null && task?.callback === null ? 1 : 0);
  for (const { outcome } of attempts) counters.add(`attempts ${outcome}`);
  for (const { isRefused } of orders) {
    counters.add(isRefused ? "redeliveries refused" : "redeliveries accepted");
  }
}

/** Counts the posts of tasks without a redelivery that were sent after the endpoint of the task had changed. */
function postsAfterChange({ evidence, changes }: Recording): number {
  return evidence.reduce((sum, { history, posts }) => {
    const { registered, plan, orders } = history;
    if (registered === null || orders.length > 0) return sum;
    const all = changes.get(endpointKey(plan.owner, plan.endpoint ?? DEFAULT)) ?? [];
    const next = all.find(({ sentAt }) => sentAt > registered.answeredAt);
    return sum + posts.filter(({ arrivedAt }) => arrivedAt > (next?.answeredAt ?? Infinity)).length;
  }, 0);
}

/** Counts the tasks that ended while the host was paused to which their callback went afterwards. */
function heldByPauses({ evidence, pauses }: Recording): number {
  const isHeld = ({ history: { ended }, posts }: Evidence) => {
    const [first] = posts.filter((post) => !isProgress(post));
    if (ended === null || first === undefined) return false;
    return pauses.some(({ host, orderedAt, endedAt }) => {
      const isWithin = ended.sentAt > orderedAt && ended.answeredAt < endedAt;
      return isWithin && host === hostOf(first) && first.arrivedAt > endedAt;
    });
  };
  return evidence.filter(isHeld).length;
}
