import type { Decision } from "../../src/core/decision.ts";
import {
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/task.ts";
import { untrue } from "./change.ts";
import { factOf, isBelieved, isSame, saidIn } from "./end-rules.ts";
import type { OutsideEvent } from "./moves.ts";
import type { Setting } from "./setting.ts";

/** What somebody told the relay, and what it made of it in the same turn. */
export interface Answer {
  readonly event: OutsideEvent;
  readonly before: TaskRecord | null;
  readonly after: TaskRecord | null;
  readonly commits: readonly TaskRecord[];
  readonly decision: Decision;
  readonly setting: Setting;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Promises 1, 3 and 7: accepted is written, refused changes nothing, and the first end wins. */
export function answerFault(answer: Answer): string | null {
  const { before, after, commits, decision } = answer;
  switch (decision.kind) {
    case "commit": {
      const isWritten = commits.includes(decision.record);
      const fault = endFault({ ...answer, after: decision.record });
      return untrue(["what is accepted is written", isWritten]) ?? fault;
    }
    case "erase":
      return after === null ? null : "what is erased is gone";
    case "nothing":
    case "reject":
      return after === before ? endFault(answer) : "what is refused changes nothing";
  }
}

function endFault({ event, before, after, decision, setting, now }: Answer): string | null {
  if (before === null || before.status === "charging") return lifelessFault(event, after, before);
  if (event.type === "register") return untrue(["a task is registered once", after === before]);
  if (isTerminal(before)) return settledFault(event, before, decision);
  if (event.type === "cancel") return untrue(["a canceled task fails", isFailed(after)]);
  if (event.type !== "report" && event.type !== "hook") return null;
  const fact = factOf(event.news);
  const isEntitled = event.type === "report" || isBelieved(before, event, setting, now);
  const isEnd = fact !== null && isEntitled;
  return untrue(
    ["the first end that is told wins", !isEnd || (isEnded(after) && isSame(saidIn(after), fact))],
    ["what is not signed ends nothing", isEnd || isStillOpen(after)],
  );
}

/** Nothing but its registration, or a report that may, creates a task; a charge makes nobody see it. */
function lifelessFault(
  event: OutsideEvent,
  after: TaskRecord | null,
  before: TaskRecord | null,
): string | null {
  const mayCreate =
    event.type === "register" || (event.type === "report" && event.creation !== null);
  return untrue(
    ["nothing comes of nothing", before !== null || after === null || mayCreate],
    ["a charge that is not known lets nothing happen", before === null || after === before],
  );
}

function settledFault(
  event: OutsideEvent,
  before: TerminalTask,
  decision: Decision,
): string | null {
  if (event.type === "report") return repeatFault(event, before, decision);
  if (event.type !== "redeliver" || event.idempotencyKey === null) return null;
  const isRepeated = before.callback?.lastOrderKey === event.idempotencyKey;
  return untrue(["the same order starts nothing new", !isRepeated || decision.kind === "nothing"]);
}

/** The same end again is harmless, another one a conflict. */
function repeatFault(
  event: Extract<OutsideEvent, { readonly type: "report" }>,
  before: TerminalTask,
  { kind }: Decision,
): string | null {
  const fact = factOf(event.news);
  const isSameEnd = fact === null || isSame(fact, saidIn(before));
  return untrue(
    ["the same again is harmless", !isSameEnd || kind === "nothing" || hasOtherDetails(event)],
    ["a second end is a conflict", isSameEnd || kind === "reject"],
  );
}

/** Results with the same links may differ in what else they say. */
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

/** The task is there when its charge is known, so its caller still waits. */
export function isCharging(decision: Decision): boolean {
  if (decision.kind !== "commit" && decision.kind !== "nothing") return false;
  return decision.record?.status === "charging";
}
