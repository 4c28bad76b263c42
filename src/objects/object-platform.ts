import type { AttemptResult, ChargeAnswer, PollAnswer } from "../core/event.ts";
import type { Policy } from "../core/schedule.ts";
import type { Charge, Delivery, Poll, Refund } from "../core/step.ts";
import type { TaskRecord } from "../core/task.ts";
import { policyOf } from "../config.ts";
import { errorText, log } from "../log.ts";
import { faultsOf, type Relay, relayOf } from "../relay.ts";
import { type Accounts, connectionObject } from "./account-objects.ts";
import { answered, LEDGER_TIMEOUT_MS } from "./answered.ts";
import { deliver, settle } from "./perform.ts";
import { parseRecord } from "./record-schema.ts";
import type { Platform } from "./platform.ts";
import { askUpstream } from "./poll.ts";

const RECORD_KEY = "task";

/** The platform of a Durable Object: its storage, its alarm, the clock and the network. */
export class ObjectPlatform implements Platform {
  readonly log = log;
  readonly #ctx: DurableObjectState;
  readonly #accounts: Accounts;
  readonly #watchdogMarginMs: number;
  readonly #jitter = Math.random();
  #relay: Relay | null = null;

  constructor(ctx: DurableObjectState, accounts: Accounts, watchdogMarginMs: number) {
    this.#ctx = ctx;
    this.#accounts = accounts;
    this.#watchdogMarginMs = watchdogMarginMs;
  }

  /**
   * Reads the configuration and imports the keys, before anything is decided or an attempt opened.
   * @throws when the configuration is not valid.
   */
  async prepare(env: object): Promise<void> {
    const result = await relayOf(env);
    if (!result.ok) throw new Error(`configuration: ${faultsOf(result.issues)}`);
    this.#relay = result.relay;
  }

  get watchdogMs(): number {
    return this.#prepared().config.callbackTimeoutMs + this.#watchdogMarginMs;
  }

  now(): number {
    return Date.now();
  }

  policy(now: number): Policy {
    return policyOf(this.#prepared().config, now, this.#jitter);
  }

  load(): TaskRecord | null {
    const value = this.#ctx.storage.kv.get(RECORD_KEY);
    return value === undefined ? null : parseRecord(value);
  }

  // Two calls without an await between them are one commit. Storage that fails breaks the output
  // gate and resets the object, so the promise of `setAlarm` says nothing more.
  commit(record: TaskRecord, alarmAt: number): void {
    // What could not be read again must not be written: the event fails, and the task lives on.
    parseRecord(record);
    this.#ctx.storage.kv.put(RECORD_KEY, record);
    this.setAlarm(alarmAt);
  }

  setAlarm(at: number): void {
    void this.#ctx.storage.setAlarm(at);
  }

  erase(): Promise<void> {
    return this.#ctx.storage.deleteAll();
  }

  send(delivery: Delivery): Promise<AttemptResult> {
    return deliver(delivery, this.#prepared());
  }

  charge({ accountId, chargeId: reference, amount, taskId }: Charge): Promise<ChargeAnswer> {
    const account = this.#accounts.getByName(accountId);
    const notAfter = Date.now() + LEDGER_TIMEOUT_MS;
    const asked = async () => account.charge({ reference, amount }, taskId, notAfter);
    return answered("charge", asked, { kind: "unknown" });
  }

  refund(refund: Refund): Promise<boolean> {
    const { chargeId, accountId, taskId } = refund;
    const relay = this.#prepared();
    if (chargeId !== null) {
      const account = this.#accounts.getByName(accountId);
      return answered("refund", async () => account.refund(chargeId, taskId), false);
    }
    const url = relay.config.settlementUrl;
    if (url !== null) return settle(refund, url, relay);
    log({ event: "settlement.impossible", task_id: taskId, detail: "SETTLEMENT_URL is not set" });
    return Promise.resolve(false);
  }

  async poll(poll: Poll, aborted: AbortSignal): Promise<PollAnswer> {
    const answer = await askUpstream(poll, this.#prepared(), aborted);
    if (answer.kind === "unauthorized") this.#noteRefusedKey(poll);
    return answer;
  }

  background(work: Promise<void>): void {
    const guarded = work.catch((error: unknown) => {
      log({ event: "loop.failed", task_id: this.#ctx.id.name ?? null, error: errorText(error) });
    });
    this.#ctx.waitUntil(guarded);
  }

  /** For `/healthz`; the object keeps when a connection's key was last refused. */
  #noteRefusedKey({ connection, taskId }: Poll): void {
    log({ event: "provider.unauthorized", task_id: taskId, connection });
    const keeper = connectionObject(this.#accounts, connection);
    const noted = answered("refused key", async () => keeper.noteRefusedKey(), undefined);
    this.#ctx.waitUntil(noted);
  }

  #prepared(): Relay {
    if (this.#relay === null) throw new Error("the loop was entered before it was prepared");
    return this.#relay;
  }
}
