import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import { configOf } from "../config/runtime.ts";
import type { ChargeAnswer } from "../core/events/event.ts";
import type { Adjustment, Booking } from "../core/ledger.ts";
import { MAX_RETENTION_MS, refundableMs } from "../core/policy.ts";
import { SECOND_MS } from "../core/time.ts";
import { AccountProfile, type Profile } from "./account-profile.ts";
import type { StoredEntry } from "./entry-table.ts";
import { type AlertKind, FailureTracker } from "./failure-tracker.ts";
import { JurisdictionMarker } from "./jurisdiction-marker.ts";
import { KeyOwnership, type KeyUse } from "./key-ownership.ts";
import { KeyTable, type StoredKey } from "./key-table.ts";
import { type CreditAnswer, LedgerBook } from "./ledger-book.ts";

export interface AccountState extends Profile {
  readonly balance: number;
}

const STALE_MARGIN_MS = SECOND_MS;

/**
 * Durable Object of an account, an API key, a connection, a receiver's host or the deployment: one class for
 * objects of six kinds, told apart by their names (`object-names.ts`). An account id has no colon, so it
 * cannot equal a name of another kind. Each object uses the storage keys, tables and methods of its kind:
 *
 * | name                     | one per    | stores                              | methods                          |
 * | ------------------------ | ---------- | ----------------------------------- | -------------------------------- |
 * | account id               | account    | `account`, `fold_at`, `entries`     | `create` to `deleteLedger`       |
 * | `account-keys:<account>` | account    | `account`, table `keys`             | `createProfile` to `forgetKeys`  |
 * | `key:<sha256>`           | API key    | `account_id`, `used_day`            | `claimKey` to `disownKey`        |
 * | `connection:<name>`      | connection | `refused_at`, `told_at`             | `noteRefusedKey`, `keyRefusedAt` |
 * | `host:<host>`            | receiver   | `failures`, `told_at`               | `noteFailure`                    |
 * | `index:`                 | deployment | `told_at`, `full_told_at`, `jurisdiction` | `claimAlertSlot`, `claimJurisdiction` |
 *
 * `account` is the profile (account-profile.ts), `entries` the ledger (entry-table.ts), `keys` the API keys
 * (key-table.ts). The object named after the account only books money. Requests are authenticated, and tasks
 * without a price registered, without a call to it, because it handles its calls one after the other. Both
 * objects of an account store nothing until the account is created; until then their other methods answer
 * null, false or `unknown_account`. Methods contain no `await` where possible, so that no other call can
 * change the balance between the reading and the writing of one.
 */
export class AccountObject extends DurableObject<object> {
  static {
    // Repeating these methods changes nothing, so the platform may do it after a lost connection.
    for (const name of ["charge", "refund", "profile", "describe", "keyRefusedAt"] as const) {
      retryable(this.prototype[name]);
    }
  }

  readonly #profile = new AccountProfile(this.ctx.storage.kv);
  readonly #ledger = new LedgerBook(this.ctx.storage);
  readonly #keys = new KeyTable(this.ctx.storage.sql);
  readonly #ownership = new KeyOwnership(this.ctx.storage.kv);
  readonly #failures = new FailureTracker(this.ctx.storage.kv);
  readonly #marker = new JurisdictionMarker(this.ctx.storage.kv);

  /** Creates the ledger of an account unless it exists. @returns the account, and whether it is new. */
  create(): { readonly isNew: boolean; readonly account: AccountState } {
    const known = this.describe();
    if (known !== null) return { isNew: false, account: known };
    this.#ledger.create();
    const profile = { generation: 1, createdAt: Date.now(), deletedAt: null };
    return { isNew: true, account: { ...this.#profile.create(profile), balance: 0 } };
  }

  /** Returns the account with its balance, also after its deletion; null when it was never created. */
  describe(): AccountState | null {
    const profile = this.#profile.read();
    return profile === null ? null : { ...profile, balance: this.#ledger.balance() };
  }

  /**
   * Charges the price of a task. A repeated call with the same reference charges nothing more; see
   * `LedgerBook.charge`.
   * @param notAfter time after which the charge is not booked, in Unix milliseconds.
   */
  charge(order: Booking, taskId: string, notAfter: number): ChargeAnswer {
    return this.#ledger.charge(order, taskId, notAfter, this.#profile.read());
  }

  /** Refunds the charge of a task, once, also after the deletion of the account; see `LedgerBook.refund`. */
  refund(reference: string, taskId: string): boolean {
    return this.#exists() && this.#ledger.refund(reference, taskId);
  }

  grant(order: Booking): CreditAnswer | null {
    return this.#profile.active() === null ? null : this.#ledger.grant(order);
  }

  adjust(order: Adjustment): CreditAnswer | null {
    return this.#profile.active() === null ? null : this.#ledger.adjust(order);
  }

  /** Returns a page of ledger entries; see `LedgerBook.page`. Null when there is no such account. */
  entries(kind: "grant" | null, before: number, limit: number): StoredEntry[] | null {
    return this.#exists() ? this.#ledger.page(kind, before, limit) : null;
  }

  /**
   * Stores the newest generation of the callback secret, a number that each rotation of the secret raises.
   * The answer to a charge passes it on to the task.
   */
  noteGeneration(generation: number): void {
    this.#profile.noteGeneration(generation);
  }

  /**
   * Marks the account as deleted: later charges, grants and adjustments are refused, refunds are still
   * booked.
   * @param foldAt time from which one entry with their total replaces all ledger entries, in Unix
   * milliseconds.
   */
  deleteLedger(foldAt: number): void {
    const isActive = this.#profile.active() !== null;
    this.#profile.delete(Date.now());
    if (isActive) this.#ledger.foldAt(foldAt);
  }

  /** Stores the profile of an account unless there is one. */
  createProfile({ generation, createdAt }: Profile): void {
    this.#keys.create();
    this.#profile.create({ generation, createdAt, deletedAt: null });
  }

  profile(): Profile | null {
    return this.#profile.read();
  }

  /** Rotates the callback secret of the account; see `AccountProfile.rotate`. */
  rotateSecret(seen: number | null): Profile | null {
    return this.#profile.rotate(seen);
  }

  /** Adds an API key. @returns the stored key, which is an older one when its hash is known already. */
  addKey(key: StoredKey, sha256: string): StoredKey | null {
    return this.#profile.active() === null ? null : this.#keys.add(key, sha256);
  }

  keys(): StoredKey[] | null {
    return this.#profile.active() === null ? null : this.#keys.all();
  }

  keyHash(id: string): string | null {
    return this.#exists() ? this.#keys.hashOf(id) : null;
  }

  removeKey(id: string): void {
    if (this.#exists()) this.#keys.remove(id);
  }

  noteKeyUse(sha256: string, today: number): void {
    if (this.#exists()) this.#keys.markUsed(sha256, today);
  }

  /** Marks the account as deleted. @returns the hashes of its API keys; null without such an account. */
  deleteProfile(): string[] | null {
    return this.#profile.delete(Date.now()) === null ? null : this.#keys.hashes();
  }

  /** Removes all keys from the list of a deleted account. */
  forgetKeys(): void {
    if (this.#exists()) this.#keys.removeAll();
  }

  /** Makes `accountId` the owner of this object's API key, unless it has one. @returns the owner. */
  claimKey(accountId: string): string {
    return this.#ownership.claim(accountId);
  }

  /** Returns the owner of this object's API key, and stores the day of its use; see `KeyOwnership.use`. */
  useKey(today: number): KeyUse | null {
    return this.#ownership.use(today);
  }

  /**
   * Revokes this API key if `accountId` owns it, by erasing the object of the key; otherwise changes
   * nothing.
   */
  async disownKey(accountId: string): Promise<void> {
    if (this.#ownership.owner() === accountId) await this.ctx.storage.deleteAll();
  }

  /**
   * Stores that the provider refused the API key of this object's connection.
   * @returns true when the caller is to alert the operator.
   */
  noteRefusedKey(): boolean {
    return this.#failures.noteRefusedKey(Date.now());
  }

  /**
   * Returns the time of the last refusal of the connection's API key, in Unix milliseconds; null when never.
   */
  keyRefusedAt(): number | null {
    return this.#failures.refusedAt();
  }

  /**
   * Counts failed attempts at the receiver's host to which this object belongs.
   * @returns true when the caller is to alert the operator.
   */
  async noteFailure(count = 1): Promise<boolean> {
    const isAlertDue = this.#failures.noteFailure(Date.now(), count);
    if ((await this.ctx.storage.getAlarm()) === null) this.#eraseOnceStale();
    return isAlertDue;
  }

  /**
   * Reserves the right to alert the operator of a fault of the index.
   * @returns true when the caller is to send the alert: at most once an hour for each kind.
   */
  claimAlertSlot(kind?: AlertKind): boolean {
    return this.#failures.claimAlertSlot(Date.now(), kind);
  }

  /** Stores the jurisdiction of the deployment's first request. @returns the stored one, new or older. */
  claimJurisdiction(jurisdiction: string): string {
    return this.#marker.claim(jurisdiction);
  }

  /**
   * Handles the alarm. An object with a ledger replaces old entries by their total. An object that counts the
   * failures of a receiver's host erases itself when there were none lately, because clients choose the hosts
   * and would fill the storage with them. Objects of other kinds set no alarm.
   */
  override async alarm(): Promise<void> {
    if (this.#exists()) this.#ledger.compact(refundableMs(this.#retentionMs()));
    else if (this.#failures.staleAt() > Date.now()) this.#eraseOnceStale();
    else await this.ctx.storage.deleteAll();
  }

  /**
   * Returns the configured retention of tasks, in milliseconds; the longest allowed one when the
   * configuration is not valid.
   */
  #retentionMs(): number {
    const config = configOf(this.env);
    return config.ok ? config.value.retentionMs : MAX_RETENTION_MS;
  }

  #eraseOnceStale(): void {
    void this.ctx.storage.setAlarm(this.#failures.staleAt() + STALE_MARGIN_MS);
  }

  #exists(): boolean {
    return this.#profile.read() !== null;
  }
}
