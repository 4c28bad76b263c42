import type { Entry } from "../../chaos/accounts.ts";
import { resultOf } from "../../chaos/caller.ts";
import type { Post } from "../../harness/receiver.ts";
import { outputOf } from "../fake-ark.ts";
import type { Evidence, Recording } from "./submit-recording.ts";

/** Result of a task whose job never became known. */
const UNKNOWN = "failed submit_unknown";
const MAX_POSTS = 3;
/** Pattern of log lines about failures that no crash explains. */
const TROUBLE = /^.*(?:alarm\.failed|loop\.failed|internal.error).*$/gim;

/** A possible fault, and whether it is there. */
type Finding = readonly [fault: string, isPresent: boolean];

/** Lists what in a recording contradicts the promises about submissions. */
export function faultsIn(recording: Recording): readonly string[] {
  const { evidence, ledger, genuine, strangePaths, refusedHooks, log } = recording;
  const entries = Map.groupBy(ledger.entries, ({ task_id }) => task_id);
  return [
    ...evidence.flatMap((each) => {
      const own = entries.get(each.answer?.taskId) ?? [];
      return orderFaults(each, own, genuine);
    }),
    ...ledgerFaults(recording),
    ...strangePaths.map((path) => `a POST to ${path}`),
    ...refusedHooks.map((hook) => `a hook refused: ${hook}`),
    ...(log.match(TROUBLE) ?? []),
  ];
}

function orderFaults(
  evidence: Evidence,
  entries: readonly Entry[],
  genuine: ReadonlySet<Post>,
): string[] {
  const { order, answer, submits, posts } = evidence;
  const expected = expectedResult(evidence);
  const findings: Finding[] = [
    ["no final answer", answer === null],
    ...submitFaults(evidence),
    ...answerFaults(evidence),
    ...resultFaults(evidence, expected),
    ["another callback than the result", posts.some((post) => !isOf(post, answer, expected))],
    ["a callback that does not verify", posts.some((post) => !genuine.has(post))],
    ["no callback", expected !== null && !posts.some((post) => post.answeredStatus === 200)],
    ["more POSTs than attempts", posts.length > MAX_POSTS],
    ["not charged exactly once", netCharges(entries) !== (isPaid(expected) ? 1 : 0)],
    ["a task without a charge", expected !== null && entries.length === 0],
  ];
  const { answer: kind, sendsHooks } = order.conduct;
  const found = findings.flatMap(([fault, isPresent]) => (isPresent ? [fault] : []));
  const attempts = evidence.task?.callback.attempts.map(({ outcome }) => outcome) ?? [];
  const known = `${answer?.status ?? "no"} answer, ${submits.length} submits, ${kind}, attempts ${attempts.join("+")}`;
  return found.map((fault) => {
    return `${order.prompt} (${answer?.taskId}: ${known}, hooks ${sendsHooks}): ${fault}`;
  });
}

/**
 * Returns the result that the task of an order must have in the end. Null when there must be no task: the upstream has
 * refused the submission, and the caller knows it.
 */
function expectedResult({ order, answer, submits }: Evidence): string | null {
  if (answer?.status === 400) return null;
  const job = submits.find(({ jobId }) => jobId !== null)?.jobId ?? null;
  const isKnown = answer?.status !== 424 || order.conduct.sendsHooks;
  return job !== null && isKnown ? `completed ${outputOf(job)}` : UNKNOWN;
}

/** Checks that no task was submitted twice, and that nothing was submitted again after a job had started. */
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

function isOf({ body, headers }: Post, answer: Evidence["answer"], expected: string | null) {
  return resultOf(JSON.parse(body)) === expected && headers["x-task-id"] === answer?.taskId;
}

function isPaid(expected: string | null): boolean {
  return expected !== null && expected !== UNKNOWN;
}

/** Returns the number of charges that were not refunded. */
function netCharges(entries: readonly Entry[]): number {
  const count = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
  return count("charge") - count("refund");
}

/** Checks that every credit is accounted for: granted, or charged for a task of an order at the price, or refunded. */
function ledgerFaults({ ledger, evidence, grant, price }: Recording): string[] {
  const taskIds = new Set(evidence.map(({ answer }) => answer?.taskId));
  const booked = new Set<string>();
  const faults: string[] = [];
  let sum = 0;
  for (const entry of ledger.entries) {
    const { kind, reference, amount, balance, task_id } = entry;
    sum += kind === "charge" ? -amount : amount;
    const isGrant = kind === "grant";
    const isWrong =
      sum !== balance ||
      amount !== (isGrant ? grant : price) ||
      booked.has(`${kind} ${reference}`) ||
      (!isGrant && (task_id === undefined || !taskIds.has(task_id)));
    if (isWrong) faults.push(`booked ${JSON.stringify(entry)}`);
    booked.add(`${kind} ${reference}`);
  }
  const paid = evidence.filter((each) => isPaid(expectedResult(each))).length;
  const due = grant - paid * price;
  if (sum !== ledger.balance) faults.push(`${sum} booked, ${ledger.balance} shown`);
  if (due !== ledger.balance) faults.push(`${due} credits are due, ${ledger.balance} shown`);
  return faults;
}
