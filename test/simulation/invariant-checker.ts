import type { ChargeAnswer, PollAnswer } from "../../src/core/events/event.ts";
import { type IndexRow, rowOf } from "../../src/core/views/index-row.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import type { Charge } from "../../src/core/duties/charge.ts";
import type { Delivery } from "../../src/core/duties/deliver.ts";
import type { OperatorNotice } from "../../src/core/duties/notify.ts";
import type { Poll } from "../../src/core/duties/poll.ts";
import type { Refund } from "../../src/core/duties/refund.ts";
import { isOpen, isTerminal, type OpenTask, type TaskRecord } from "../../src/core/record/task.ts";
import type { Decision } from "../../src/core/events/decision.ts";
import { sameJob } from "../../src/core/record/upstream.ts";
import { eraseFault, noticeFault, publishFault, refundFault, sendFault } from "./call-rules.ts";
import { type Change, type Heard, firstViolation } from "./change.ts";
import { commitFault } from "./commit-rules.ts";
import { factOf, isBelieved, keptFacts, pollFact } from "./end-rules.ts";
import type { Ground } from "./object-host.ts";
import type { SimulatedObject } from "./simulated-object.ts";
import { observedEvents, summary } from "./observed-events.ts";
import type { OutsideEvent } from "./moves.ts";
import { type Durable, type Fact, TaskHistory, type Violation, writtenBy } from "./task-history.ts";

/**
 * Sees every commit and every call of one object and holds them against the promises (DESIGN §1), in
 * words of its own: it asks the relay's code for nothing but what readers and the index are shown.
 */
export class InvariantChecker {
  violation: Violation | null = null;
  history: TaskHistory | null = null;
  /** Lives of this id that are over. */
  readonly past: TaskHistory[] = [];
  /** Every record that was committed, also what was lost with its instance. */
  readonly records: TaskRecord[] = [];
  /** How often nobody heard that the operator took a notice. */
  untaken = 0;
  /** Somebody has told the relay to erase the task, in this very turn. */
  isErasing = false;
  /** What has happened in this life. */
  readonly observed = new Set<string>();
  /** Lines of the trace; null: nobody reads it. */
  readonly trace: string[] | null;
  readonly #ground: Ground;
  /** Who has said something last. */
  #teller = "";
  #durable: Durable = { history: null, written: null, past: 0 };
  /** What the upstream has said, until it is written. */
  #heard: Heard | null = null;
  /** What the event says that may create the task. */
  #firstFact: Fact | null = null;

  constructor(ground: Ground, isTraced: boolean) {
    this.#ground = ground;
    this.trace = isTraced ? [] : null;
  }

  note(line: () => string): void {
    this.trace?.push(line());
  }

  /** Only the first counts: what follows may follow from it. */
  broken(promise: string, detail: string): void {
    this.note(() => `  BROKEN: ${promise}: ${detail}`);
    this.violation ??= { promise, detail };
  }

  /** @param fault which rule the relay has broken; null: none. */
  judge(promise: string, fault: string | null): void {
    if (fault !== null) this.broken(promise, fault);
  }

  committed(before: TaskRecord | null, after: TaskRecord, instance: SimulatedObject): void {
    this.records.push(after);
    const { setting, ledger, wasBroken } = this.#ground;
    if (before === null) this.#begin(after);
    const { history } = this;
    if (history === null) return this.broken("storage", "a record without a beginning");
    const heard = wasBroken ? null : this.#heard;
    this.#heard = null;
    const context = { setting, history, ledger, instance, wasBroken, heard };
    const change: Change = { before, after, now: this.#now, ...context };
    const { row } = this.#ground.outside;
    // A clock that has stepped back lets a later life look older than the row of the one before.
    const isLater = after.status !== "charging" && this.past.length > 0;
    const isOutdated = isLater && (row?.version ?? 0) > after.version;
    this.judge("commit", commitFault(change, isOutdated ? rowOf(after) : row));
    for (const what of observedEvents(change, this.#teller)) this.observed.add(what);
    if (before === null && this.past.length > 0) this.observed.add("an id has another life");
    history.written = writtenBy(history.written, change);
    this.note(() => `  commit ${summary(after)}`);
  }

  erased(record: TaskRecord | null): void {
    const { history } = this;
    this.note(() => "  erase");
    if (record === null || history === null) return this.broken("erasure", "of nothing");
    this.judge("erasure", eraseFault(record, history, this.isErasing, this.#ground));
    if (isTerminal(record) && !this.isErasing) this.observed.add("a task expires");
    history.isErased = this.isErasing;
    this.past.push(history);
    this.history = null;
  }

  /** What the outside says, before the relay decides: which ends it may lead to. */
  told(event: OutsideEvent, record: TaskRecord | null): void {
    const { history } = this;
    this.#teller = event.type;
    this.#heard = null;
    this.#firstFact = record === null && event.type === "report" ? factOf(event.news) : null;
    if (record === null || history === null || !isOpen(record)) return;
    if (event.type === "cancel") history.isCanceled = true;
    const { setting } = this.#ground;
    if (event.type === "attach")
      history.facts.push(...keptFacts(event, record, setting, this.#now));
    if (event.type === "report" || event.type === "hook") this.#learn(event, record, history);
  }

  /** What the caller of a charge hears whose task is gone, unless another has taken its place since. */
  charged(chargeId: string, last: Decision | null): void {
    const isGone = this.history === null && this.past.at(-1)?.chargeId === chargeId;
    const isHeard = last?.kind === "erase" && last.record.credits?.chargeId === chargeId;
    this.judge(
      "answer",
      firstViolation(["who registers hears how its charge ended", !isGone || isHeard]),
    );
  }

  /** What was written is durable. */
  flushed(): void {
    const { history } = this;
    this.#durable = { history, written: history?.written ?? null, past: this.past.length };
  }

  /** What was written since then has never been. */
  lost(): void {
    const { history, written, past } = this.#durable;
    this.history = history;
    this.#heard = null;
    if (history !== null && written !== null) history.written = written;
    this.past.length = past;
  }

  sent(delivery: Delivery, caller: SimulatedObject): void {
    const { history } = this;
    const { disk, ledger } = this.#ground;
    if (history === null) return this.broken("attempt", "of no task");
    const { record } = disk.durable;
    this.judge("attempt", sendFault(delivery, { record, history, ledger, caller }));
    const isEnded = record !== null && isTerminal(record);
    const series = isEnded ? (record.callback?.series.number ?? 0) : 0;
    history.posts.push({ number: delivery.number, series, heard: null });
  }

  heard(number: number, outcome: Outcome): void {
    this.history?.heard(number, outcome);
  }

  charging({ chargeId }: Charge): void {
    const { record } = this.#ground.disk.durable;
    const isOwed = record?.status === "charging" && record.credits.chargeId === chargeId;
    this.judge("charge", firstViolation(["its intent is durable", isOwed]));
    const { retryAt } = record?.status === "charging" ? record.credits.state : { retryAt: 0 };
    this.judge("charge", firstViolation(["not before its time", this.#now >= retryAt]));
    const isOwn = this.history?.chargeId === chargeId;
    this.judge("charge", firstViolation(["every life of an id pays anew", isOwn]));
  }

  /** What the ledger answers. */
  ledgerSaid({ amount }: Charge, answer: ChargeAnswer): void {
    const isShort = answer.kind !== "insufficient" || answer.balance < amount;
    this.judge("charge", firstViolation(["what is there can be spent", isShort]));
  }

  refunding(refund: Refund): void {
    this.judge("refund", refundFault(refund, this.#ground.disk.durable.record, this.history));
  }

  polling({ job }: Poll): void {
    const { disk, setting } = this.#ground;
    const { record } = disk.durable;
    const isOwn = record !== null && isOpen(record) && sameJob(record.upstream?.job ?? null, job);
    this.judge("poll", firstViolation(["only after the attached job of an open task", isOwn]));
    const isAskable = setting.limits !== null && !setting.isPaused;
    const plan = record !== null && isOpen(record) ? record.tracking.poll : null;
    const isAllowed = isAskable && this.#now >= (plan?.notBefore ?? 0);
    this.judge("poll", firstViolation(["only with a key, and when it is allowed", isAllowed]));
    if (this.history !== null) this.history.polledAt = this.#now;
  }

  upstreamSaid({ job, nudges }: Poll, answer: PollAnswer): void {
    const { record } = this.#ground.disk.written;
    const fact = pollFact(answer);
    this.#teller = "poll";
    if (record === null || !isOpen(record)) return;
    if (!sameJob(record.upstream?.job ?? null, job)) return;
    this.#heard = { answer, nudges };
    if (fact !== null) this.history?.facts.push(fact);
  }

  publishing(row: IndexRow, withinMs: number): void {
    const { record } = this.#ground.disk.durable;
    this.judge("index", publishFault(row, record, withinMs, this.#ground));
  }

  telling(notice: OperatorNotice, withinMs: number): void {
    const { record } = this.#ground.disk.durable;
    this.judge("notice", noticeFault(notice, record, withinMs, this.#ground));
    this.untaken++;
  }

  operatorTold({ kind, version }: OperatorNotice): void {
    const histories = [this.history, ...this.past];
    const isTrue = histories.some((history) => history?.written.failures.has(version) === true);
    this.judge(
      "notice",
      firstViolation(["tells what happened", kind !== "callback.failed" || isTrue]),
    );
    for (const history of histories) history?.told.add(version);
  }

  operatorAnswered(isTaken: boolean): void {
    if (isTaken) this.untaken--;
  }

  #begin(record: TaskRecord): void {
    const chargeId = record.credits?.chargeId ?? null;
    const isNew = chargeId === null || this.past.every((history) => history.chargeId !== chargeId);
    this.judge("charge", firstViolation(["every life of an id pays anew", isNew]));
    this.history = new TaskHistory(chargeId, record.credits?.amount ?? null);
    if (this.#firstFact !== null) this.history.facts.push(this.#firstFact);
  }

  #learn(
    event: Extract<OutsideEvent, { news: unknown }>,
    task: OpenTask,
    history: TaskHistory,
  ): void {
    const fact = factOf(event.news);
    if (fact === null) return;
    const isFact =
      event.type === "report" || isBelieved(task, event, this.#ground.setting, this.#now);
    if (isFact) history.facts.push(fact);
  }

  get #now(): number {
    return this.#ground.now;
  }
}
