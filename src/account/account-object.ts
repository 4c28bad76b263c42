import { DurableObject } from "cloudflare:workers";
import type { ChargeAnswer } from "../core/events/event.ts";
import type { Booking } from "../core/ledger.ts";
import { DAY_MS, SECOND_MS } from "../core/time.ts";
import { AccountProfile, type Profile } from "./account-profile.ts";
import type { StoredEntry } from "./entry-table.ts";
import { FailureTracker } from "./failure-tracker.ts";
import { JurisdictionMarker } from "./jurisdiction-marker.ts";
import { KeyOwnership } from "./key-ownership.ts";
import { KeyTable, type StoredKey } from "./key-table.ts";
import { type GrantAnswer, LedgerBook } from "./ledger-book.ts";

export interface AccountState extends Profile {
  readonly balance: number;
}

const COMPACT_EVERY_MS = 28 * DAY_MS;
const COMPACT_PAUSE_MS = SECOND_MS;
const COMPACT_AFTER_MS = 400 * DAY_MS;
const STALE_MARGIN_MS = SECOND_MS;

/**
 * One class for objects of five kinds, told apart by their names (`object-names.ts`). An account id has no
 * colon, so it cannot equal another kind of name. Each object uses the keys, tables and methods of its kind:
 *
 * | name                | one per    | stores                              | methods                           |
 * | ------------------- | ---------- | ----------------------------------- | --------------------------------- |
 * | account id          | account    | `account`, tables `entries`, `keys` | `create` to `rotateSecret`        |
 * | `key:<sha256>`      | API key    | `owner`                             | `claimKey` to `disownKey`         |
 * | `connection:<name>` | connection | `refused_at`, `told_at`             | `noteRefusedKey`, `keyRefusedAt`  |
 * | `host:<host>`       | receiver   | `failures`, `told_at`               | `noteFailure`                     |
 * | `index:`            | deployment | `told_at`, `jurisdiction`           | `claimAlertSlot`, `claimJurisdiction` |
 *
 * An account stores nothing until `create`; its other methods then answer null, false or `unknown_account`.
 * Methods are synchronous where possible: one turn each, so that two calls never see the same balance.
 */
export class AccountObject extends DurableObject<object> {
  readonly #profile = new AccountProfile(this.ctx.storage.kv);
  readonly #ledger = new LedgerBook(this.ctx.storage.sql);
  readonly #keys = new KeyTable(this.ctx.storage.sql);
  readonly #ownership = new KeyOwnership(this.ctx.storage.kv);
  readonly #failures = new FailureTracker(this.ctx.storage.kv);
  readonly #marker = new JurisdictionMarker(this.ctx.storage.kv);

  /** Creates the account unless it exists. */
  create(): { readonly isNew: boolean; readonly account: AccountState } {
    const known = this.describe();
    if (known !== null) return { isNew: false, account: known };
    this.#ledger.create();
    this.#keys.create();
    const profile = this.#profile.create(Date.now());
    void this.ctx.storage.setAlarm(Date.now() + COMPACT_EVERY_MS);
    return { isNew: true, account: { ...profile, balance: 0 } };
  }

  describe(): AccountState | null {
    const profile = this.#profile.read();
    return profile === null ? null : { ...profile, balance: this.#ledger.balance() };
  }

  /**
   * Charges a task, once per reference; see `LedgerBook.charge`.
   * @param notAfter time after which the charge is not booked, in Unix milliseconds.
   */
  charge(order: Booking, taskId: string, notAfter: number): ChargeAnswer {
    const generation = this.#profile.read()?.generation ?? null;
    return this.#ledger.charge(order, taskId, notAfter, generation);
  }

  /** Refunds a charge, once; see `LedgerBook.refund`. */
  refund(reference: string, taskId: string): boolean {
    return this.#exists() && this.#ledger.refund(reference, taskId);
  }

  grant(order: Booking): GrantAnswer | null {
    return this.#exists() ? this.#ledger.grant(order) : null;
  }

  /** Returns ledger entries before position `before`, newest first: all kinds, or only the grants. */
  entries(kind: "grant" | null, before: number, limit: number): StoredEntry[] | null {
    return this.#exists() ? this.#ledger.page(kind, before, limit) : null;
  }

  /** Adds an API key. @returns the stored key, which is an older one when its hash is known already. */
  addKey(key: StoredKey, sha256: string): StoredKey | null {
    return this.#exists() ? this.#keys.add(key, sha256) : null;
  }

  keys(): StoredKey[] | null {
    return this.#exists() ? this.#keys.all() : null;
  }

  keyHash(id: string): string | null {
    return this.#exists() ? this.#keys.hashOf(id) : null;
  }

  removeKey(id: string): void {
    if (this.#exists()) this.#keys.remove(id);
  }

  /** Tells whether the account has an API key with this hash, and stores the day of the use. */
  verifyKey(sha256: string): boolean {
    return this.#exists() && this.#keys.use(sha256, Math.floor(Date.now() / DAY_MS));
  }

  /** Rotates the callback secret of the account; see `AccountProfile.rotate`. */
  rotateSecret(seen: number | null): AccountState | null {
    this.#profile.rotate(seen);
    return this.describe();
  }

  /**
   * Claims this API key for an account.
   * @returns the owner of the key, which stays the first account that claimed it.
   */
  claimKey(accountId: string): string {
    return this.#ownership.claim(accountId);
  }

  keyOwner(): string | null {
    return this.#ownership.owner();
  }

  /** Erases this object if the account owns the API key. */
  async disownKey(accountId: string): Promise<void> {
    if (this.keyOwner() === accountId) await this.ctx.storage.deleteAll();
  }

  /** Stores that the provider refused this connection's key. @returns true when to alert the operator. */
  noteRefusedKey(): boolean {
    return this.#failures.noteRefusedKey(Date.now());
  }

  /**
   * Returns the time at which this connection's key was last refused, in Unix milliseconds; null when
   * never.
   */
  keyRefusedAt(): number | null {
    return this.#failures.refusedAt();
  }

  /** Counts a failed attempt at this host. @returns true when to alert the operator. */
  async noteFailure(): Promise<boolean> {
    const isAlertDue = this.#failures.noteFailure(Date.now());
    if ((await this.ctx.storage.getAlarm()) === null) this.#eraseOnceStale();
    return isAlertDue;
  }

  /** Claims an alert about the index. @returns true when the caller may send the alert: once an hour. */
  claimAlertSlot(): boolean {
    return this.#failures.claimAlertSlot(Date.now());
  }

  /**
   * Stores the jurisdiction of the deployment's first request.
   * @returns the stored jurisdiction; see `JurisdictionMarker`.
   */
  claimJurisdiction(jurisdiction: string): string {
    return this.#marker.claim(jurisdiction);
  }

  /**
   * Handles the alarm: compacts the ledger of an account, every 28 days; erases the object of a host whose
   * failures are too old to matter, because clients choose the hosts and would fill the storage with them.
   * Objects of the other kinds set no alarm.
   */
  override async alarm(): Promise<void> {
    if (this.#exists()) this.#compactLedger();
    else if (this.#failures.staleAt() > Date.now()) this.#eraseOnceStale();
    else await this.ctx.storage.deleteAll();
  }

  #compactLedger(): void {
    // The next alarm is set first, so that an alarm remains if the work throws.
    void this.ctx.storage.setAlarm(Date.now() + COMPACT_EVERY_MS);
    const hasMore = this.#ledger.compact(Date.now() - COMPACT_AFTER_MS);
    if (hasMore) void this.ctx.storage.setAlarm(Date.now() + COMPACT_PAUSE_MS);
  }

  #eraseOnceStale(): void {
    void this.ctx.storage.setAlarm(this.#failures.staleAt() + STALE_MARGIN_MS);
  }

  #exists(): boolean {
    return this.#profile.read() !== null;
  }
}
