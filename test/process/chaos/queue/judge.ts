import type { Post } from "../../harness/receiver.ts";
import { resultOf } from "../caller.ts";
import { countOf, type Entry, ledgerFaults } from "../ledger.ts";
import { linkOf } from "../submissions/recording.ts";
import type { FinalAnswer } from "../submissions/submitting.ts";
import { type Finding, present, strangeIn } from "../witnessed.ts";
import { MEMBERS, PLACES } from "./orders.ts";
import type { Evidence, QueuedSubmit, Recording } from "./recording.ts";

/** Most attempts of a callback by the schedule of the scenario. */
const MAX_POSTS = 4;
/** Answers after which there is no task: a refusal of the upstream, or no place. */
const WITHOUT_TASK = [400, 429];
const ANSWERS = [200, 202, 409, 424, ...WITHOUT_TASK];

/** Lists what in a recording contradicts the promises about limits of jobs in flight. */
export function faultsIn(recording: Recording): readonly string[] {
  const { evidence, ledgers, genuine, refusedHooks } = recording;
  const entries = Map.groupBy(
    ledgers.flatMap((ledger) => ledger.entries),
    ({ task_id }) => task_id,
  );
  return [
    ...limitFaults(recording),
    ...evidence.flatMap((each) => {
      return orderFaults(each, entries.get(each.taskId) ?? [], genuine);
    }),
    ...leftFaults(recording),
    ...accountFaults(recording),
    ...refusedHooks.map((hook) => `a hook refused: ${hook}`),
    ...strangeIn(recording),
  ];
}

/** Checks that no key ever had more jobs in flight than its connection has places. */
function limitFaults({ mostInFlight }: Recording): readonly string[] {
  return Object.entries(PLACES).flatMap(([name, places]) => {
    const most = new Map<string, number>(mostInFlight).get(name) ?? 0;
    return most <= places ? [] : [`${name}: ${most} jobs in flight at ${places} places`];
  });
}

function orderFaults(
  evidence: Evidence,
  entries: readonly Entry[],
  genuine: ReadonlySet<Post>,
): readonly string[] {
  const { order, taskId, answer, submits, task, posts } = evidence;
  const result = task === null ? null : resultOf(task);
  const findings: readonly Finding[] = [
    ["no final answer", answer === null],
    [`a ${answer?.status} answer`, answer !== null && !ANSWERS.includes(answer.status)],
    ["the id of another task", answer !== null && hasTask(answer) && answer.taskId !== taskId],
    ...submitFaults(evidence),
    ...endFaults(evidence, result),
    ...callbackFaults(evidence, result),
    ["a callback that does not verify", posts.some((post) => !genuine.has(post))],
    ["not charged exactly once", netCharges(entries) !== (isPaid(result) ? 1 : 0)],
  ];
  const known = `${answer?.status ?? "no"} answer, ${submits.length} submits, ${order.conduct.answer}, ${result}`;
  const about = `${order.prompt} to ${order.via} (${taskId}: ${known})`;
  return present(findings).map((fault) => `${about}: ${fault}`);
}

/** Tells whether an answer says that there is a task. */
const hasTask = ({ status }: FinalAnswer) => !WITHOUT_TASK.includes(status);
const isStarted = ({ jobId }: QueuedSubmit) => jobId !== null;

/** Checks that a job was started once at most, and that only a refused call was followed by another one. */
function submitFaults({ order, submits }: Evidence): readonly Finding[] {
  const ofTasks = Map.groupBy(submits, ({ hookUrl }) => hookUrl);
  const isAgain = [...ofTasks.values()].some((own) => own.slice(0, -1).some(isStarted));
  const members: readonly string[] = MEMBERS[order.via];
  return [
    ["a job was started twice", submits.filter(isStarted).length > 1],
    ["sent again without a proof that nothing was started", isAgain],
    ["sent with a foreign key", submits.some(({ connection }) => !members.includes(connection))],
  ];
}

/** Checks that the task has ended, in a way that what the upstream knows permits. */
function endFaults(evidence: Evidence, result: string | null): readonly Finding[] {
  const { answer, task, submits } = evidence;
  const isWithout = answer !== null && !hasTask(answer);
  const hasJob = submits.some(isStarted);
  if (task === null) return [["lost", !isWithout || hasJob]];
  return [
    ["refused, and there", isWithout],
    ["has not ended", result === null],
    [`ended as ${result}`, result !== null && !isPossible(evidence, result)],
  ];
}

/** Tells whether a task may have ended like this. */
function isPossible(evidence: Evidence, result: string): boolean {
  const { order, submits, task } = evidence;
  const job = submits.find(isStarted)?.jobId ?? null;
  const { isFailed = false } = order.conduct;
  if (job !== null && task?.status === "completed") {
    return !isFailed && result === `completed ${linkOf(job)}`;
  }
  return task?.status === "failed" && mayFail(evidence, job !== null, task.error?.code ?? "");
}

/** Tells whether a task may have failed with this code. */
function mayFail({ order, submits }: Evidence, hasJob: boolean, code: string): boolean {
  const { isFailed = false, sendsHooks, answer } = order.conduct;
  switch (code) {
    case "submit_unknown":
      return !hasJob || !sendsHooks;
    case "queue_timeout":
      return !hasJob && order.startByS !== null;
    case "canceled":
      return !hasJob && order.cancelAfterMs !== null;
    default:
      return hasJob ? isFailed : answer === "refusal" && submits.length > 0;
  }
}

/** Checks that each task has one callback: the same result in each attempt, and one that has arrived. */
function callbackFaults({ posts, taskId, task }: Evidence, result: string | null): Finding[] {
  const attempts = task?.callback.attempts ?? [];
  const cutOff = attempts.filter(({ outcome }) => outcome !== "delivered").length;
  const arrived = posts.filter((post) => post.answeredStatus === 200).length;
  const isOther = ({ body, headers }: Post) =>
    resultOf(JSON.parse(body)) !== result || headers["x-task-id"] !== taskId;
  return [
    ["no callback", task !== null && arrived === 0],
    ["another callback than the result", posts.some(isOther)],
    ["more than one callback", arrived > 1 + cutOff || posts.length > MAX_POSTS],
  ];
}

/** Checks that in the end nobody has a place or waits for one, and that no call is stored. */
function leftFaults({ leftRows, storedCalls }: Recording): readonly string[] {
  return present([
    [`places are left: ${JSON.stringify(leftRows)}`, leftRows.length > 0],
    [`calls are left: ${JSON.stringify(storedCalls)}`, storedCalls.length > 0],
  ]);
}

function isPaid(result: string | null): boolean {
  return result?.startsWith("completed") === true;
}

/** Returns the number of charges that were not refunded. */
function netCharges(entries: readonly Entry[]): number {
  return countOf(entries, "charge") - countOf(entries, "refund");
}

/** Checks that every credit is accounted for: granted, or charged for a completed task at the price, or refunded. */
function accountFaults({ ledgers, evidence, grant, price }: Recording): readonly string[] {
  const taskIds = new Set(evidence.map(({ taskId }) => taskId));
  const isOrdered = ({ kind, amount, task_id: id }: Entry) =>
    kind === "grant" ? amount === grant : amount === price && id !== undefined && taskIds.has(id);
  return ledgers.flatMap((ledger) => {
    const own = evidence.filter(({ order }) => order.account === ledger.accountId);
    const paid = own.filter(({ task }) => task?.status === "completed").length;
    const due = grant - paid * price;
    const isRight = due === ledger.balance;
    const wrong = `${ledger.accountId}: ${due} credits are due, ${ledger.balance} shown`;
    return [...ledgerFaults(ledger, isOrdered), ...(isRight ? [] : [wrong])];
  });
}
