import type { Decision } from "../../src/core/events/decision.ts";
import type { RedeliverEvent, RegisterEvent } from "../../src/core/events/event.ts";
import type { Callback } from "../../src/core/record/callback.ts";
import type { KeyedRedeliveries } from "../../src/core/record/redelivery-keys.ts";
import {
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import { orderOf } from "./cancel-rules.ts";
import { type Answer, isEqual, firstViolation } from "./change.ts";
import { endResultOf, mayHookEnd, isSameResult, storedResult } from "./end-rules.ts";
import type { OutsideEvent } from "./moves.ts";
import { deletionFault } from "./output-rules.ts";
import { outcomeFault } from "./submission-rules.ts";
import { trackedFault } from "./tracking-rules.ts";

/** Number of orders with an Idempotency-Key that a task must remember of each caller. */
const REDELIVERIES_KEPT = 8;

/** Checks promises 1, 3 and 7: accepted is written, refused changes nothing, and the first end wins. */
export function answerFault(answer: Answer): string | null {
  const { before, after, commits, decision } = answer;
  switch (decision.kind) {
    case "changed": {
      const isWritten = commits.includes(decision.record);
      const fault = endFault({ ...answer, after: decision.record });
      const isIdle = before !== null && isEqual(before, decision.record);
      return (
        firstViolation({
          "an accepted event is written": isWritten,
          "an event without effect writes nothing":
            !isIdle || answer.event.type === "rewrite_index_row",
        }) ?? fault
      );
    }
    case "erase":
      return after === null ? endFaultOfErasure(answer) : "an erased task is gone";
    case "unchanged":
    case "reject":
      return after === before ? endFault(answer) : "a refused event changes nothing";
  }
}

function endFaultOfErasure({ event, before, after, setting }: Answer): string | null {
  return event.type === "submit_ended" ? outcomeFault(event, before, after, setting) : null;
}

/** Checks the answer to a registration of a task that exists: its caller may not send the call. */
function againFault({ event, before, decision }: Answer): string | null {
  if (event.type !== "register" || before === null) return null;
  const isSame = isSameRequest(event, before);
  const code = decision.kind === "reject" ? decision.rejection.code : null;
  const kind = before.submission?.state.kind;
  const isSending = (kind === "sending" || kind === "queued") && !isCallAgain(event, before);
  return firstViolation({
    "another request under the same id is a conflict": isSame || code === "task_exists",
    "a submission that is repeated while it is under way is told so":
      !isSame || !isSending || code === "submission_running",
    "a registration that is repeated gets the task":
      !isSame || isSending || decision.kind === "unchanged",
  });
}

/** Tells whether a registration repeats a call, and neither its caller nor the first one waits for the upstream. */
function isCallAgain({ submission }: RegisterEvent, before: TaskRecord): boolean {
  return submission?.isCall === true && before.submission?.isCall === true;
}

function endFault(answer: Answer): string | null {
  const { event, before, after, decision, setting, now } = answer;
  if (event.type === "submit_ended") return outcomeFault(event, before, after, setting);
  if (before === null || before.status === "charging")
    return absentTaskFault(event, after, before, decision);
  if (event.type === "register")
    return firstViolation({ "a task is registered once": after === before }) ?? againFault(answer);
  if (isTerminal(before)) return settledFault(answer, before);
  if (event.type === "cancel" || event.type === "cancel_submitted")
    return orderFault(answer, before);
  if (event.type === "hook" && event.submissionId !== before.submission?.id)
    return firstViolation({
      "a hook to the URL of another life changes nothing": after === before,
    });
  const isTold = event.type === "report" || event.type === "attach";
  if (isTold && isResultOnItsWay(before))
    return firstViolation({
      "what another says of a task changes nothing while its call may be storing the result":
        after === before,
    });
  if (event.type !== "report" && event.type !== "hook") return trackedFault(answer, before);
  const fact = endResultOf(event.news);
  const isEntitled = event.type === "report" || mayHookEnd(before, event, setting, now);
  const isEnd = fact !== null && isEntitled;
  const isProgress = event.type === "report" && fact === null;
  const fault = firstViolation({
    "the first end wins": !isEnd || (isEnded(after) && isSameResult(storedResult(after), fact)),
    "an unsigned hook ends nothing": isEnd || isStillOpen(after),
    "reported progress is shown": !isProgress || after?.status === "processing",
    "the same progress changes nothing":
      !isProgress || before.status !== "processing" || decision.kind === "unchanged",
  });
  return fault ?? trackedFault(answer, before);
}

/** Tells whether an object makes the call of a task, and passes on the answer or is alone in showing the result, or a job. */
function isResultOnItsWay({ submission }: OpenTask): boolean {
  const isAlone = submission?.isCall === true && submission.isHookless === true;
  return (isAlone || submission?.isPassedOn === true) && submission?.state.kind === "sending";
}

/** Checks the effect of an order to cancel a task: it fails, or its upstream is asked, or nothing changes. */
function orderFault({ event, after, decision, setting }: Answer, before: OpenTask): string | null {
  const order = orderOf(event, before, setting);
  const code = decision.kind === "reject" ? decision.rejection.code : null;
  const isSending = before.submission?.state.kind === "sending";
  const refusal = isSending ? "submission_running" : "not_cancelable";
  const isAsked = isStillOpen(after) && after.cancellation?.state.kind === "asking";
  const isJoined = before.cancellation?.endsAt != null && decision.kind === "unchanged";
  return firstViolation({
    "an order that needs no upstream fails the task": order !== "fail" || isFailed(after),
    "an order that needs the upstream leaves the task open, and asks":
      order !== "ask" || isAsked || isJoined,
    "an order that is refused says why": order !== null || code === refusal,
  });
}

/**
 * Checks that only registrations and reports create tasks, and that a task whose price is being charged is
 * invisible.
 */
function absentTaskFault(
  event: OutsideEvent,
  after: TaskRecord | null,
  before: TaskRecord | null,
  decision: Decision,
): string | null {
  const mayCreate =
    event.type === "register" || (event.type === "report" && event.creation !== null);
  return firstViolation({
    "only registrations and reports create tasks": before !== null || after === null || mayCreate,
    "a task with an unknown charge does not change": before === null || after === before,
    "a submission that is repeated does not join the charge":
      event.type !== "register" ||
      before === null ||
      before.submission === null ||
      isCallAgain(event, before) ||
      decision.kind === "reject",
    "a call that is repeated joins the charge while its task is to be charged":
      event.type !== "register" ||
      before === null ||
      !isCallAgain(event, before) ||
      (decision.kind === "unchanged") === (isSameRequest(event, before) && isCharged(before)),
  });
}

function isCharged({ credits, submission }: TaskRecord): boolean {
  return credits?.state.kind === "charging" && submission?.state.kind !== "unsent";
}

function isSameRequest({ submission, registration }: RegisterEvent, before: TaskRecord): boolean {
  return (
    before.submission?.requestDigest === submission?.requestDigest &&
    isEqual(before.registration, registration)
  );
}

function settledFault(answer: Answer, before: TerminalTask): string | null {
  const { event, decision, setting } = answer;
  if (event.type === "report") return repeatFault(event, before, decision);
  if (event.type === "delete_outputs") return deletionFault(answer, before);
  if (event.type !== "redeliver") return null;
  const { attempts, callbackUrl, idempotencyKey: key, orderedBy } = event;
  const known = redeliveriesOf(before);
  const earlier = known[orderedBy].find((order) => order.key === key);
  if (earlier !== undefined) {
    const isSame = earlier.callbackUrl === callbackUrl;
    return firstViolation({
      "a repeated order starts nothing": !isSame || decision.kind === "unchanged",
      "the key of an order is good for no other URL": isSame || isReused(decision),
    });
  }
  if (event.endpoint?.kind === "unknown") {
    return firstViolation({
      "an order to an unknown endpoint is refused":
        decision.kind === "reject" && decision.rejection.code === "unknown_endpoint",
    });
  }
  const waiting = setting.isPaused || isResting(before.callback) ? before.callback : null;
  const isJoined = waiting?.state.kind === "due";
  const fault = isJoined ? joinedFault(event, waiting, decision) : null;
  if (fault !== null) return fault;
  if (decision.kind !== "changed" || !isEnded(decision.record)) {
    const isRefused = isJoined ? key === null : decision.kind === "reject" && !isReused(decision);
    return firstViolation({ "only a repeated order starts nothing": isRefused });
  }
  const { callback } = decision.record;
  const own = key === null ? known[orderedBy] : [...known[orderedBy], { key, callbackUrl }];
  const orders = { ...known, [orderedBy]: own.slice(-REDELIVERIES_KEPT) };
  return firstViolation({
    "a redelivery uses the ordered URL": callback?.url === orderedUrl(event, before.callback),
    "a redelivery has the ordered endpoint": isEqual(
      callback?.terms?.endpoint ?? null,
      orderedEndpoint(event, before.callback),
    ),
    "a redelivery has the ordered number of attempts":
      isJoined || callback?.series.ordered === attempts,
    "the last eight keyed redeliveries of each orderer are kept": isEqual(
      redeliveriesOf(decision.record),
      orders,
    ),
  });
}

/** Tells whether the next attempt of a callback rests because its receiver's host is paused. */
function isResting(callback: Callback | null): boolean {
  return callback?.state.kind === "due" && callback.state.rest !== undefined;
}

function isReused(decision: Decision): boolean {
  return decision.kind === "reject" && decision.rejection.code === "idempotency_key_reused";
}

/** Checks an order for a callback whose next attempt waits while the relay is paused. */
function joinedFault(event: RedeliverEvent, before: Callback, decision: Decision): string | null {
  const record = "record" in decision ? decision.record : null;
  const after = isEnded(record) ? record.callback : null;
  return firstViolation({
    "an order during a pause starts no series": isEqual(after?.series, before.series),
    "an order during a pause uses the ordered URL": after?.url === orderedUrl(event, before),
  });
}

/** Returns the URL to which an order for a redelivery leads. */
function orderedUrl({ callbackUrl, endpoint }: RedeliverEvent, before: Callback | null) {
  return endpoint?.kind === "known" ? endpoint.url : (callbackUrl ?? before?.url);
}

/** Returns the endpoint to which an order for a redelivery leads. Null when it is a URL alone. */
function orderedEndpoint({ callbackUrl, endpoint }: RedeliverEvent, before: Callback | null) {
  if (endpoint?.kind === "known") return endpoint.copy;
  const isKept = callbackUrl === null || callbackUrl === before?.url;
  return isKept ? (before?.terms?.endpoint ?? null) : null;
}

function redeliveriesOf({ callback }: TerminalTask): KeyedRedeliveries {
  return callback?.keyedRedeliveries ?? { operator: [], owner: [] };
}

/** Checks that the same end again changes nothing, and that another end is a conflict. */
function repeatFault(
  event: Extract<OutsideEvent, { readonly type: "report" }>,
  before: TerminalTask,
  { kind }: Decision,
): string | null {
  const fact = endResultOf(event.news);
  const isSameEnd = fact === null || isSameResult(fact, storedResult(before));
  return firstViolation({
    "a repeated end changes nothing": !isSameEnd || kind === "unchanged" || hasOtherDetails(event),
    "a second end is a conflict": isSameEnd || kind === "reject",
  });
}

/** Returns whether a report has metadata, in which results with the same links may differ. */
function hasOtherDetails({ news }: Extract<OutsideEvent, { readonly type: "report" }>): boolean {
  return news.status === "completed" && Object.keys(news.metadata).length > 0;
}

function isEnded(record: TaskRecord | null): record is TerminalTask {
  return record !== null && isTerminal(record);
}

function isFailed(record: TaskRecord | null): boolean {
  return record?.status === "failed";
}

function isStillOpen(record: TaskRecord | null): record is OpenTask {
  return record !== null && isOpen(record);
}

/** Returns the charge id for which the caller still waits; null when it does not wait. */
export function chargingOf(decision: Decision): string | null {
  if (decision.kind !== "changed" && decision.kind !== "unchanged") return null;
  const { record } = decision;
  if (record?.status !== "charging" || record.credits.state.kind !== "charging") return null;
  return record.credits.chargeId;
}
