import { createHash } from "node:crypto";
import type { Post } from "../../harness/receiver.ts";
import { imageOf } from "../../submit/fake-ark.ts";
import { resultOf } from "../caller.ts";
import { countOf, type Entry, ledgerFaults } from "../ledger.ts";
import { type Finding, present, strangeIn } from "../witnessed.ts";
import { type Evidence, linkOf, OUTPUTS_URL, type Recording } from "./recording.ts";
import { isEnd, isRefusal, type JobAnswer } from "./waiting.ts";

/** Result of a task whose job never became known. */
const UNKNOWN = "failed submit_unknown";
/** Result of a call's task that the upstream has refused. */
const REFUSED = "failed upstream_error";
const MAX_POSTS = 4;

/** Lists what in a recording contradicts the promises about submissions. */
export function faultsIn(recording: Recording): readonly string[] {
  const { evidence, ledger, genuine, refusedHooks } = recording;
  const entries = Map.groupBy(ledger.entries, ({ task_id }) => task_id);
  return [
    ...evidence.flatMap((each) => {
      const own = entries.get(each.answer?.taskId) ?? [];
      return orderFaults(each, own, genuine);
    }),
    ...accountFaults(recording),
    ...bucketFaults(recording),
    ...refusedHooks.map((hook) => `a hook refused: ${hook}`),
    ...strangeIn(recording),
  ];
}

function orderFaults(
  evidence: Evidence,
  entries: readonly Entry[],
  genuine: ReadonlySet<Post>,
): string[] {
  const { order, answer, submits, posts } = evidence;
  const expected = expectedResult(evidence);
  const { status = null, attempts: made = [] } = evidence.task?.callback ?? {};
  const attempts = made.map(({ outcome }) => outcome);
  // Kills may have cut all attempts off.
  const isCutOff = status === "failed" && [...new Set(attempts)].join() === "interrupted";
  const isDelivered = posts.some((post) => post.answeredStatus === 200);
  const findings: Finding[] = [
    ["no final answer", answer === null],
    ...submitFaults(evidence),
    ...answerFaults(evidence),
    ...resultFaults(evidence, expected),
    ...readerFaults(evidence, entries),
    ["another callback than the result", posts.some((post) => !isOf(post, answer, expected))],
    ["a callback that does not verify", posts.some((post) => !genuine.has(post))],
    ["no callback", expected !== null && !isDelivered && !isCutOff],
    ["more POSTs than attempts", posts.length > MAX_POSTS],
    ["not charged exactly once", netCharges(entries) !== (isPaid(expected) ? 1 : 0)],
    ["another image than the upstream has sent", isOther(evidence)],
    ["a task without a charge", expected !== null && entries.length === 0],
  ];
  const { answer: kind, sendsHooks } = order.conduct;
  const known = `${answer?.status ?? "no"} answer, ${submits.length} submits, ${kind}, attempts ${attempts.join("+")}`;
  return present(findings).map((fault) => {
    return `${order.prompt} (${answer?.taskId}: ${known}, hooks ${sendsHooks}): ${fault}`;
  });
}

/**
 * Returns the result that the task of an order must have in the end. Null when there must be no task: the upstream has
 * refused the submission, and the caller knows it.
 */
function expectedResult(evidence: Evidence): string | null {
  const { order, answer, submits } = evidence;
  if (order.isCall) return expectedOfCall(evidence);
  if (answer?.status === 400) return null;
  const job = submits.find(({ jobId }) => jobId !== null)?.jobId ?? null;
  const isKnown = answer?.status !== 424 || order.conduct.sendsHooks;
  return job !== null && isKnown ? `completed ${linkOf(job)}` : UNKNOWN;
}

/**
 * Returns the result that the task of a call has, if it is one that it may have, and otherwise one of these. The outcome
 * of a call is also unknown where the relay was killed while it made the call.
 */
function expectedOfCall({ order, submits, task, answer }: Evidence): string {
  const result = task === null ? null : resultOf(task);
  const link = `completed ${OUTPUTS_URL}/outputs/${answer?.taskId}/1/`;
  const isPossible =
    submits.length > 0 &&
    ((order.conduct.answer === "id" && result?.startsWith(link)) ||
      (order.conduct.answer === "refusal" && result === REFUSED));
  return isPossible && result !== null ? result : UNKNOWN;
}

/** Tells whether the link in the result of a call gives something else than the image that the upstream has sent. */
function isOther({ order, task, image }: Evidence): boolean {
  if (!order.isCall || task?.status !== "completed") return false;
  return image !== createHash("sha256").update(imageOf(order.prompt)).digest("hex");
}

/** Checks that no task or call was submitted twice, and that nothing was submitted again after a job had started. */
function submitFaults({ order, submits }: Evidence): Finding[] {
  const isRefused = order.conduct.answer === "refusal";
  return [
    ["submitted twice for a task", new Set(submits.map((s) => s.hookUrl)).size < submits.length],
    ["submitted again after its job had started", !isRefused && submits.length > 1],
  ];
}

/** Checks that the caller got the upstream's own answer, or learnt that its outcome is unknown. */
function answerFaults({ order, answer, submits }: Evidence): Finding[] {
  if (answer === null) return [];
  const { status, jobId } = answer;
  if (order.isCall) return [[`a ${status} answer`, status !== 202]];
  const isRefused = order.conduct.answer === "refusal";
  const started = submits.map((submit) => submit.jobId);
  return [
    [`a ${status} answer`, ![200, 400, 409, 424].includes(status)],
    ["a refusal that the upstream did not make", status === 400 && !isRefused],
    ["an answer without a job", [200, 409].includes(status) && started.every((id) => id === null)],
    ["the answer of another job", status === 200 && !started.includes(jobId)],
  ];
}

function resultFaults({ task }: Evidence, expected: string | null): Finding[] {
  if (task === null) return [["lost", expected !== null]];
  return [
    ["refused, and there", expected === null],
    [`ended as ${resultOf(task)} and not as ${expected}`, resultOf(task) !== expected],
  ];
}

/**
 * Checks what a client was answered that waits for its job. How often the relay has asked the upstream is not judged: it
 * asks once in the time that the upstream demands between two polls, but has the last answer only in memory, so each kill
 * lets it ask anew.
 */
function readerFaults(evidence: Evidence, entries: readonly Entry[]): Finding[] {
  const { answer: submitted, reads, upstreamReads, task, posts } = evidence;
  const [first, last] = [reads[0], reads.at(-1)];
  if (first === undefined || last === undefined) return [];
  const answers = reads.flatMap(({ answer }) => answer ?? []);
  const end = last.answer !== null && isEnd(last.answer) ? last.answer : null;
  const isOwn = ({ jobId, taskId }: JobAnswer) =>
    jobId === submitted?.jobId && taskId === submitted.taskId;
  const wasStated = ({ state }: JobAnswer) =>
    upstreamReads.some((read) => read.state === state && read.at <= last.endedAt);
  const isDelivered = posts.some((post) => post.answeredStatus === 200);
  return [
    ...answers.map((each): Finding => [`a reader answered ${each.status}`, isRefusal(each)]),
    ["a reader told of another job", answers.some((each) => each.status === 200 && !isOwn(each))],
    ["a reader that never saw the end", end === null && isDelivered],
    ["an end that the upstream has not stated", end !== null && !wasStated(end)],
    ["ended otherwise than its reader saw", end !== null && !isResultOf(end, task)],
    ["booked by a read", entries.some((entry) => entry.created_at > first.askedAt / 1000)],
  ];
}

/** Tells whether a task has the result that follows from the final state of its job. */
function isResultOf({ state, output }: JobAnswer, task: Evidence["task"]): boolean {
  if (state === "succeeded") return resultOf(task) === `completed ${output}`;
  return task?.status === "failed";
}

function isOf({ body, headers }: Post, answer: Evidence["answer"], expected: string | null) {
  return resultOf(JSON.parse(body)) === expected && headers["x-task-id"] === answer?.taskId;
}

function isPaid(expected: string | null): boolean {
  return expected?.startsWith("completed") === true;
}

/** Returns the number of charges that were not refunded. */
function netCharges(entries: readonly Entry[]): number {
  return countOf(entries, "charge") - countOf(entries, "refund");
}

/** Checks that every credit is accounted for: granted, or charged for a task of an order at the price, or refunded. */
function accountFaults({ ledger, evidence, grant, price }: Recording): readonly string[] {
  const taskIds = new Set(evidence.map(({ answer }) => answer?.taskId));
  const isOrdered = ({ kind, amount, task_id: id }: Entry) =>
    kind === "grant" ? amount === grant : amount === price && id !== undefined && taskIds.has(id);
  const paid = evidence.filter((each) => isPaid(expectedResult(each))).length;
  const due = grant - paid * price;
  return [
    ...ledgerFaults(ledger, isOrdered),
    ...(due === ledger.balance ? [] : [`${due} credits are due, ${ledger.balance} shown`]),
  ];
}

/** Checks that the bucket has the files of completed calls and nothing else, and that no call is stored any more. */
function bucketFaults({ bucket, storedCalls, evidence }: Recording): readonly string[] {
  const kept = evidence.flatMap(({ order, task }) =>
    order.isCall && task?.status === "completed" ? [`${task.id} 0`, `${task.id} 1`] : [],
  );
  const found = bucket.keys.map((key) => {
    const [, id, , number] = key.split("/");
    return `${id} ${number}`;
  });
  return present([
    ["the bucket has not exactly the files of completed calls", !isSame(kept, found)],
    [`the bucket has ${bucket.parts} parts of unfinished uploads`, bucket.parts > 0],
    [`calls are left: ${JSON.stringify(storedCalls)}`, storedCalls.length > 0],
  ]);
}

/** Tells whether two lists have the same texts, in any order. */
export function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.toSorted().join() === others.toSorted().join();
}
