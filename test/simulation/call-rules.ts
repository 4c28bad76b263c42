import type { Delivery, Refund } from "../../src/core/step.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/task.ts";
import type { Books } from "./books.ts";
import { untrue } from "./change.ts";
import type { Instance } from "./instance.ts";
import type { Story } from "./story.ts";

interface Sending {
  /** What is durable. */
  readonly record: TaskRecord | null;
  readonly story: Story;
  readonly books: Books;
  readonly caller: Instance;
}

/** Promises 2 and 4 for one POST that is about to leave. */
export function sendFault(
  delivery: Delivery,
  { record, story, books, caller }: Sending,
): string | null {
  if (record === null || !isTerminal(record) || record.callback === null) return "of no callback";
  const { state, series, url } = record.callback;
  const { number } = delivery;
  const most = series.ordered ?? story.written.mostAttempts;
  const inSeries = story.posts.filter((post) => post.series === series.number).length + 1;
  return untrue(
    ["its start is durable", state.kind === "in_flight" && state.number === number],
    ["it is sent by who opened it", story.written.openers.get(number) === caller],
    ["no number twice", story.posts.every((post) => post.number !== number)],
    ["no more attempts than promised", inSeries <= most],
    ["the stored body", delivery.body === record.body && delivery.status === record.status],
    ["the callback's URL", delivery.url === url],
    ["task.failed is after the refund", record.status === "completed" || isPaidBack(record, books)],
  );
}

/** Promise 4 for one refund that is about to leave. */
export function refundFault(
  { chargeId, amount }: Refund,
  record: TaskRecord | null,
  story: Story | null,
): string | null {
  return untrue(
    ["only a durable failure is refunded", record !== null && record.status === "failed"],
    ["under the reference of its charge", story?.chargeId === chargeId],
    ["what was charged", story?.amount === amount],
  );
}

/** What may be erased. @param isDue its time is over, or the operator has said so. */
export function eraseFault(
  record: TaskRecord,
  { chargeId }: Story,
  books: Books,
  isDue: boolean,
): string | null {
  if (record.status === "charging") {
    const isCharged = chargeId === null || books.count("charge", chargeId) > 0;
    return untrue(["a task that was charged exists", !isCharged]);
  }
  return untrue(
    ["a task stays for its retention", isDue],
    ["only what is settled is erased", isTerminal(record) && isSettled(record)],
  );
}

function isPaidBack({ id, credits }: TerminalTask, books: Books): boolean {
  if (credits === null) return true;
  if (credits.chargeId === null) return books.settled.has(id);
  return books.count("refund", credits.chargeId) === 1;
}

function isSettled({ credits, callback }: TerminalTask): boolean {
  const { kind } = callback?.state ?? { kind: "delivered" };
  return credits?.state.kind !== "refunding" && (kind === "delivered" || kind === "failed");
}
