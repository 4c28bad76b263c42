import * as z from "zod";
import { Task } from "../../harness/client.ts";
import type { Post } from "../../harness/receiver.ts";
import type { Counters } from "../counters.ts";
import type { FinalTask } from "../final-task.ts";
import type { Entry, Ledger } from "../ledger.ts";
import type { Witnessed } from "../witnessed.ts";
import type { Hook, TaskPlan } from "./plan.ts";
import type { RecordedTask } from "./task-history.ts";

export type ReadTask = z.infer<typeof ReadTask>;
export const ReadTask = Task.extend({
  credits: z.object({ amount: z.int(), state: z.string() }).optional(),
  output: z.object({ urls: z.array(z.string()) }).optional(),
  error: z.object({ code: z.string() }).optional(),
});

/** The final state of a task, as its operator, the relay, the ledger and the receiver have recorded it. */
export interface Evidence extends FinalTask<ReadTask> {
  readonly history: RecordedTask;
  readonly posts: readonly Post[];
  readonly entries: readonly Entry[];
}

/** Everything that a round has recorded, from which its faults are found. */
export interface Recording extends Witnessed {
  readonly evidence: readonly Evidence[];
  readonly ledgers: readonly Ledger[];
  /** Tasks whose failure was announced before their refund was stored. */
  readonly tooEarly: readonly string[];
}

/** Adds what is known of a task to the figures. */
export function countTask(counters: Counters, { history, task, posts, entries }: Evidence): void {
  const { state, plan, refused, orders } = history;
  counters.add("tasks");
  if (state !== "created") counters.add(`tasks ${state}`);
  else counters.add(plan.ending === null ? "left open" : `ended by ${plan.ending.via}`);
  for (const hook of hooksOf(plan)) counters.add(`hooks ${hook}`);
  counters.add("POSTs", posts.length);
  counters.add("endings refused", refused.size);
  counters.add("series ordered", orders.length);
  for (const { kind } of entries) counters.add(`booked: ${kind}`);
  for (const { number, outcome = "open" } of task?.callback?.attempts ?? []) {
    counters.add(`attempts ${outcome}`);
    if (outcome === "interrupted") counters.add(`interrupted attempts, number ${number}`);
  }
}

function hooksOf({ ending }: TaskPlan): readonly Hook[] {
  return ending?.via === "hook" ? ending.hooks : [];
}
