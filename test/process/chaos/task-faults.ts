import * as z from "zod";
import { Task } from "../harness/client.ts";
import type { Post } from "../harness/receiver.ts";
import type { Entry } from "./accounts.ts";
import { callbackFaults } from "./callback-faults.ts";
import { resultOf } from "./caller.ts";
import type { RecordedTask } from "./task-history.ts";

export type ReadTask = z.infer<typeof ReadTask>;
export const ReadTask = Task.extend({
  credits: z.object({ amount: z.int(), state: z.string() }).optional(),
  output: z.object({ urls: z.array(z.string()) }).optional(),
  error: z.object({ code: z.string() }).optional(),
});

/** The final state of a task, as its operator, the relay, the ledger and the receiver have recorded it. */
export interface Evidence {
  readonly history: RecordedTask;
  /** Body of `GET /v1/tasks/{id}`; null when the task is unknown. */
  readonly text: string | null;
  readonly task: ReadTask | null;
  readonly posts: readonly Post[];
  readonly entries: readonly Entry[];
}

/** A possible fault, and whether the task has it. */
export type Finding = readonly [fault: string, isPresent: boolean];

/** Lists the facts about a task that contradict the promises. */
export function faultsOf(evidence: Evidence, genuine: ReadonlySet<Post>): string[] {
  const { history, task, posts } = evidence;
  const { plan, state } = history;
  const exists = state === "created" && task !== null;
  const orderedPosts = history.orders.reduce((total, attempts) => total + attempts, 3);
  const findings: Finding[] = [
    ["accepted, and gone", state === "created" && task === null],
    ["refused or erased, and there", state !== "created" && task !== null],
    ["refused, and called back", state === "refused" && posts.length > 0],
    ...(exists ? resultFaults(history, task) : []),
    ...(exists ? callbackFaults(evidence, task) : []),
    ...(plan.credits === null ? [] : creditFaults(evidence)),
    ["more POSTs than ordered", posts.length > orderedPosts],
    ["another body", posts.some(({ body }) => !isBodyOf(evidence, body))],
    ["a callback that does not verify", posts.some((post) => !genuine.has(post))],
  ];
  const found = findings.flatMap(([fault, isPresent]) => (isPresent ? [fault] : []));
  const { nth, createdBy, ending } = plan;
  return [...history.faults, ...found].map((fault) => {
    return `${history.id} (nth ${nth}, ${createdBy}, ${ending?.result ?? "open"}): ${fault}`;
  });
}

/** Checks that the first accepted ending stays, and that no other one was ever shown. */
function resultFaults({ plan, accepted, refused, shown }: RecordedTask, task: ReadTask): Finding[] {
  const result = resultOf(task);
  const { ending, rival } = plan;
  const possible = [ending?.result, rival?.ending.result];
  return [
    ["two results were accepted", accepted.size > 1],
    ["another result than the accepted one", accepted.size > 0 && !accepted.has(result ?? "")],
    ["a result that was refused", result !== null && refused.has(result)],
    ["a result that was shown otherwise", [...shown].some((each) => each !== result)],
    ["a result that was never requested", result !== null && !possible.includes(result)],
    ["not ended", ending !== null && result === null],
  ];
}

/** Checks that the task was charged once, and refunded once if it failed. */
function creditFaults({ history, task, entries }: Evidence): Finding[] {
  const { state, plan, accepted } = history;
  const isPaid = state === "created" || state === "erased";
  const result = task === null ? [...accepted][0] : resultOf(task);
  const isFailure = isPaid && (result ?? "").startsWith("failed ");
  const count = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
  const { amount, state: shown } = task?.credits ?? {};
  return [
    ["not charged exactly once", count("charge") !== (isPaid ? 1 : 0)],
    ["wrong number of refunds", count("refund") !== (isFailure ? 1 : 0)],
    ["another price", entries.some((entry) => entry.amount !== plan.credits)],
    ["a refund of another charge", new Set(entries.map(({ reference }) => reference)).size > 1],
    ["another price shown", task !== null && amount !== plan.credits],
    ["other credits shown", task !== null && shown !== (isFailure ? "refunded" : "charged")],
  ];
}

/**
 * Compares a body byte by byte with the one that GET shows, or with the first POST of a task that no longer
 * exists.
 */
function isBodyOf({ text, posts }: Evidence, body: string): boolean {
  return text === null ? body === posts[0]?.body : text.startsWith(`${body.slice(0, -1)},`);
}
