import { WorkLoop } from "../../src/task/work-loop.ts";
import { MINUTE, NOW } from "../core/builders.ts";
import { answerFault, chargingOf } from "./answer-rules.ts";
import { SimulatedLedger } from "./ledger.ts";
import { type Alarm, Disk } from "./disk.ts";
import { type Ground, ObjectHost, StorageFault } from "./object-host.ts";
import { SimulatedObject } from "./simulated-object.ts";
import { type Move, type OutsideEvent, describeMove } from "./moves.ts";
import { Parties } from "./parties.ts";
import { readFault, restFault, stillFault } from "./rest-rules.ts";
import { runMicrotasks } from "./microtasks.ts";
import type { Beginning, Setting } from "./setting.ts";
import { InvariantChecker } from "./invariant-checker.ts";

type Living = { readonly instance: SimulatedObject; readonly loop: WorkLoop };

const RECOVERY_MS = MINUTE;
/** So many turns without any activity, and nothing more happens by itself. */
const QUIET_TURNS = 16;

/** One task id, the object under it, and everybody around it. */
export class World implements Ground {
  readonly disk = new Disk();
  readonly checker: InvariantChecker;
  readonly outside: Parties;
  readonly ledger: SimulatedLedger;
  readonly isRoundTripped: boolean;
  clock = NOW;
  deathIn: number | null = null;
  faultyReads = 0;
  wasBroken = false;
  setting: Setting;
  /** There was a time when the operator did not want to be told. */
  wasUntold: boolean;
  readonly #host: ObjectHost;
  #living: Living | null = null;
  #isMisconfigured = false;
  #rung: Alarm | null = null;
  #lastRung: Alarm | null = null;
  #charges = 0;

  constructor({ setting, granted, hasAccount, isRoundTripped }: Beginning, isTraced: boolean) {
    this.setting = setting;
    this.wasUntold = !setting.isOperatorNotified;
    this.isRoundTripped = isRoundTripped;
    this.ledger = new SimulatedLedger(granted);
    this.ledger.hasAccount = hasAccount;
    this.checker = new InvariantChecker(this, isTraced);
    this.outside = new Parties(this.ledger, this.checker, () => this.clock);
    this.#host = new ObjectHost(this);
  }

  get ringing(): number | null {
    return this.#rung?.at ?? null;
  }

  get now(): number {
    return Math.max(this.clock, this.ringing ?? 0, this.living?.latest ?? 0);
  }

  get living(): SimulatedObject | null {
    return this.#living?.instance ?? null;
  }

  /** One move, everything that follows from it by itself, and the verdict on how it leaves the task. */
  async do(move: Move): Promise<void> {
    this.checker.note(() => `${((this.clock - NOW) / 1000).toFixed(3)} s  ${describeMove(move)}`);
    await this.#perform(move);
    if (move.turns !== undefined) return runMicrotasks(move.turns);
    await this.#settle();
    this.checker.judge("never limbo", restFault(this, this.living));
  }

  flush(): void {
    this.disk.flush();
    this.checker.flushed();
  }

  died(): void {
    this.checker.note(() => "  the instance dies");
    this.#living = null;
    this.deathIn = null;
    this.outside.abandonCalls();
    this.checker.observed.add(this.disk.isDirty ? "a commit is lost" : "an instance dies");
    this.disk.lose(this.#rung);
    this.checker.lost();
    this.#rung = null;
  }

  async #perform(move: Move): Promise<void> {
    switch (move.kind) {
      case "event":
        void this.#tell(move.event);
        return;
      case "read":
        return this.#read();
      case "end":
        this.outside.flights[move.pick % this.outside.flights.length]?.end(move.ending);
        return;
      case "arriveLate":
        this.outside.arriveLate(move.pick);
        return;
      case "ring":
        return this.#ring(move.lateMs, move.isSlow);
      case "duplicateAlarm":
        if (this.#rung === null && this.#lastRung !== null) this.#handle(this.#lastRung);
        return;
      case "pass":
        return this.#pass(move.ms, move.isSlow);
      case "crash":
        if (move.afterPoints === 0) this.living?.die();
        else this.deathIn = move.afterPoints - 1;
        return;
      case "deploy":
        this.living?.die();
        this.setting = move.setting;
        if (!move.setting.isOperatorNotified) this.wasUntold = true;
        return;
      case "misconfigure":
        this.#isMisconfigured = move.isBroken;
        if (move.isBroken) this.wasBroken = true;
        this.living?.die();
        return;
      case "fault":
        this.faultyReads = move.reads;
        if (move.reads > 0) this.wasBroken = true;
        return;
      case "grant":
        this.ledger.granted += move.amount;
    }
  }

  #runSeed(): Living {
    if (this.#living === null) {
      const instance = new SimulatedObject(this.#host);
      this.#living = { instance, loop: new WorkLoop(instance) };
    }
    return this.#living;
  }

  /** A caller; what it is answered leaves when everything before it is durable. */
  async #tell(given: OutsideEvent): Promise<void> {
    if (this.#isMisconfigured) return;
    const { instance, loop } = this.#runSeed();
    const event = this.#charged(given);
    const before = this.disk.written.record;
    this.checker.told(event, before);
    this.checker.isErasing = event.type === "erase";
    instance.commits.length = 0;
    const { setting, now } = this;
    try {
      const ended = loop.applyAndErase(event);
      this.checker.isErasing = false;
      const { record: after } = this.disk.written;
      const commits = [...instance.commits];
      const decision = await ended;
      const answer = { event, before, after, commits, decision, setting, now };
      if (!instance.isDead) this.checker.judge("answer", answerFault(answer));
      instance.leave();
      this.checker.note(() => `  answer ${decision.kind}`);
      const chargeId = chargingOf(decision);
      if (chargeId === null) return;
      const last = await loop.runUntilIdle();
      if (!instance.isDead) this.checker.charged(chargeId, last);
    } catch (error) {
      this.#host.escaped(error);
    }
  }

  #read(): void {
    if (this.#isMisconfigured) return;
    const { instance, loop } = this.#runSeed();
    try {
      const before = this.disk.written;
      const read = loop.read();
      this.checker.judge("read-your-writes", readFault(read, before.record));
      this.checker.judge("read", stillFault(this, before));
      instance.leave();
    } catch (error) {
      this.#host.escaped(error);
    }
  }

  async #ring(lateMs: number, isSlow: boolean): Promise<void> {
    // What was written before is durable before an alarm comes.
    this.flush();
    const { alarm } = this.disk.durable;
    if (alarm === null || this.#rung !== null) return;
    await this.#pass(Math.max(0, alarm.at + lateMs - this.clock), isSlow);
    // What ended meanwhile may have set another one.
    const due = this.disk.durable.alarm;
    if (due === null || due.at > this.clock) return;
    this.disk.write({ alarm: null });
    this.flush();
    this.#handle(due);
  }

  /** As the runtime calls `TaskObject.alarm`, and as that one is written. */
  #handle(alarm: Alarm): void {
    this.#rung = alarm;
    this.#lastRung = alarm;
    const { instance, loop } = this.#runSeed();
    // An alarm has ended when what it wrote is durable.
    const ended = () => {
      if (instance.isDead) return;
      this.flush();
      this.#rung = null;
    };
    const failed = (error: unknown) => {
      this.#host.escaped(error);
      const at = Math.max(this.clock, alarm.at) + RECOVERY_MS;
      if (!instance.isDead) this.#host.setAlarm(at, instance);
      ended();
    };
    const work = this.#isMisconfigured ? Promise.reject(new StorageFault()) : loop.wake(alarm.at);
    void work.then(ended, failed);
  }

  /** Calls that nobody answers end in time, unless the machine is too slow for that. */
  async #pass(ms: number, isSlow: boolean): Promise<void> {
    const until = this.clock + ms;
    for (;;) {
      const next = isSlow ? undefined : this.outside.firstToExpire(until);
      if (next === undefined) break;
      this.clock = Math.max(this.clock, next.endsBy);
      next.expire();
      await this.#settle();
    }
    this.clock = ms < 0 ? until : Math.max(this.clock, until);
  }

  async #settle(): Promise<void> {
    let points = -1;
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      const now = this.living?.points ?? 0;
      if (now !== points) quiet = 0;
      points = now;
      await Promise.resolve();
    }
    this.flush();
  }

  /** Every registration brings a charge id of its own. */
  #charged(event: OutsideEvent): OutsideEvent {
    if (event.type !== "register" || event.chargeId === null) return event;
    return { ...event, chargeId: `charge-${++this.#charges}` };
  }
}
