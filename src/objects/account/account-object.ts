import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import { configOf, type WithStartup } from "../../config/runtime.ts";
import type { ChargeAnswer } from "../../core/events/event.ts";
import type { Adjustment, Booking } from "../../core/ledger.ts";
import { MAX_RETENTION_MS, refundableMs } from "../../core/policy.ts";
import type { AccountRole } from "../../security/roles.ts";
import { AccountProfile, type Profile } from "./account-profile.ts";
import type { StoredEntry } from "./entry-table.ts";
import { type KeyClaim, KeyClaims, type KeyUse } from "./key-claims.ts";
import { KeyTable, type StoredKey } from "./key-table.ts";
import { type CreditAnswer, LedgerBook } from "./ledger-book.ts";

/**
 * Methods that the platform may call again after a lost connection to the account's object, because a second call
 * changes nothing more.
 */
const REPEATABLE = [
  "charge",
  "refund",
  "release",
  "profile",
  "recentlyCharged",
  "describe",
  "useListedKey",
] as const;

const JURISDICTION_KEY = "jurisdiction";

export interface AccountState extends Profile {
  readonly balance: number;
}

/**
 * Durable Object with what accounts own: credits and API keys (binding `ACCOUNTS`). Its objects are of four kinds,
 * which differ by their names (`objects/object-names.ts`). They share one class, because the platform cannot move
 * an object to another class, and what these objects store must never be lost. An account id has no colon, so it
 * never equals a name of another kind.
 *
 * - `<account id>`, one per account: stores `profile`, `fold_at` and the table `entries`. Called by task objects,
 *   once to charge a task with a price and once to refund or release it, and by the routes of credits.
 * - `account-keys:<account id>`, one per account: stores `profile` and the table `api_keys`. Called for an API key,
 *   by each isolate at most once a minute, and by the routes of keys and secrets.
 * - `keys:<digit>`, 16 in all: stores claims to keys by their SHA-256. Called for a key that the relay has not
 *   generated, by each isolate at most once a minute, and for each key that is added or removed.
 * - `index:`, one per deployment: stores `jurisdiction`, and has nothing to do with the index of tasks. Called once by
 *   each isolate.
 *
 * The index also has the id of each account, for lists, and of the account of each task (index-db/schema.ts).
 *
 * `profile` is in account-profile.ts, `entries` the ledger (entry-table.ts), and `api_keys` the list of
 * API keys (key-table.ts); claims to keys are in key-claims.ts. The object named after the account handles its
 * calls one after the other. It therefore only books credits: requests are authenticated without it, and so are
 * tasks without a price registered. Both objects of an account store nothing until the account is created. Until
 * then, their other methods answer null, false or `unknown_account`. Methods contain no `await` where possible, so
 * that no other call can change the balance between the reading and the writing of one.
 */
export class AccountObject extends DurableObject<WithStartup> {
  static {
    for (const name of REPEATABLE) retryable(this.prototype[name]);
  }

  readonly #profile = new AccountProfile(this.ctx.storage.kv);
  readonly #ledger = new LedgerBook(this.ctx.storage);
  readonly #keys = new KeyTable(this.ctx.storage.sql);
  readonly #claims = new KeyClaims(this.ctx.storage.kv);

  // Object `<account id>`: books the credits of an account.

  /**
   * Creates the ledger of an account, unless it exists.
   * @returns the account, and whether it is new.
   */
  create(): { readonly isNew: boolean; readonly account: AccountState } {
    const known = this.describe();
    if (known !== null) return { isNew: false, account: known };
    this.#ledger.create();
    const profile = { generation: 1, createdAt: Date.now(), deletedAt: null };
    return { isNew: true, account: { ...this.#profile.create(profile), balance: 0 } };
  }

  /** Returns the account with its balance, even after its deletion. Null when it was never created. */
  describe(): AccountState | null {
    const profile = this.#profile.read();
    return profile === null ? null : { ...profile, balance: this.#ledger.balance() };
  }

  /**
   * Charges the price of a task. A repeated call with the same reference charges nothing more; see
   * `LedgerBook.charge`.
   * @param notAfter time after which the charge is not booked, in Unix milliseconds.
   * @param bookedBy name of the API key that registered the task; null when none did.
   */
  charge(
    order: Booking,
    taskId: string,
    notAfter: number,
    bookedBy: string | null = null,
  ): ChargeAnswer {
    const annotation = { taskId, bookedBy };
    return this.#ledger.charge(order, annotation, notAfter, this.#profile.read());
  }

  /**
   * Refunds the charge of a task, once. This works even after the deletion of the account; see `LedgerBook.refund`.
   */
  refund(reference: string, taskId: string): boolean {
    return this.#profile.exists() && this.#ledger.refund(reference, taskId);
  }

  /**
   * Gives back a part of the charge of a task, once, even after the deletion of the account; see `LedgerBook.release`.
   */
  release(order: Booking, taskId: string): boolean {
    return this.#profile.exists() && this.#ledger.release(order, taskId);
  }

  /**
   * Books a grant of credits. Null when the account does not exist or was deleted.
   * @param bookedBy name of the API key that orders the grant; null when none does.
   */
  grant(order: Booking, bookedBy: string | null = null): CreditAnswer | null {
    return this.#profile.active() === null ? null : this.#ledger.grant(order, bookedBy);
  }

  adjust(order: Adjustment, bookedBy: string | null = null): CreditAnswer | null {
    return this.#profile.active() === null ? null : this.#ledger.adjust(order, bookedBy);
  }

  /** Returns a page of ledger entries; see `LedgerBook.page`. Null when there is no such account. */
  entries(kind: "grant" | null, before: number, limit: number): StoredEntry[] | null {
    return this.#profile.exists() ? this.#ledger.page(kind, before, limit) : null;
  }

  /**
   * Returns the tasks of charges that were booked after `time` and of which nothing was given back since; see
   * `EntryTable.recentlyCharged`. Null when there is no such account.
   */
  recentlyCharged(time: number, limit: number): string[] | null {
    return this.#profile.exists() ? this.#ledger.recentlyCharged(time, limit) : null;
  }

  /**
   * Stores the latest generation of the account's callback secret, a number that each rotation of the secret
   * raises. The answer to a charge contains it, so that the task can store it.
   */
  noteGeneration(generation: number): void {
    this.#profile.noteGeneration(generation);
  }

  /**
   * Marks the account as deleted. From then on, charges, grants and adjustments are refused; refunds and
   * releases are still booked.
   * @param foldAt time from which one entry with the total replaces all ledger entries, in Unix milliseconds.
   */
  deleteLedger(foldAt: number): void {
    const isActive = this.#profile.active() !== null;
    this.#profile.delete(Date.now());
    if (isActive) this.#ledger.foldAt(foldAt);
  }

  // Object `account-keys:<account>`: the profile of an account and the list of its API keys.

  /** Stores the profile of an account unless there is one. */
  createProfile({ generation, createdAt }: Profile): void {
    this.#profile.create({ generation, createdAt, deletedAt: null });
  }

  profile(): Profile | null {
    return this.#profile.read();
  }

  /**
   * Rotates the account's callback secret, which raises its generation by one.
   * @param seen the generation that the caller knows. Nothing changes when another one is stored. Null rotates in
   * any case.
   * @returns the profile, changed or not; null when the account does not exist or was deleted.
   */
  rotateSecret(seen: number | null): Profile | null {
    return this.#profile.rotate(seen);
  }

  /**
   * Adds an API key to the list of the account.
   * @returns the stored key; it is an older one when the list has a key with the same hash already. Null when the
   * account does not exist or was deleted.
   */
  addListedKey(key: StoredKey): StoredKey | null {
    return this.#profile.active() === null ? null : this.#keys.add(key);
  }

  keys(): StoredKey[] | null {
    return this.#profile.active() === null ? null : this.#keys.all();
  }

  keyHash(id: string): string | null {
    return this.#profile.exists() ? this.#keys.hashOf(id) : null;
  }

  removeKey(id: string): void {
    if (this.#profile.exists()) this.#keys.remove(id);
  }

  /**
   * Returns the role of an API key of the account, and stores the day of its use; see `KeyTable.use`. Null when the
   * account has no such key, or was deleted.
   */
  useListedKey(sha256: string, today: number): AccountRole | null {
    return this.#profile.active() === null ? null : this.#keys.use(sha256, today);
  }

  /**
   * Marks the account as deleted.
   * @returns the hashes of its API keys; null when there is no such account.
   */
  deleteProfile(): string[] | null {
    return this.#profile.delete(Date.now()) === null ? null : this.#keys.hashes();
  }

  /** Removes all keys from the list of a deleted account. */
  forgetKeys(): void {
    if (this.#profile.exists()) this.#keys.removeAll();
  }

  // Objects `keys:<digit>`: which account owns an API key.

  /**
   * Makes an account the owner of an API key, unless the key has an owner already.
   * @returns the stored claim.
   */
  claimKeyHash(sha256: string, claim: KeyClaim): KeyClaim {
    return this.#claims.claim(sha256, claim);
  }

  /** Returns the owner of an API key, and stores the day of the use; see `KeyClaims.use`. */
  useKeyHash(sha256: string, today: number): KeyUse | null {
    return this.#claims.use(sha256, today);
  }

  /**
   * Ends the claim of an account to an API key, which then has no owner. Nothing changes when another account owns
   * the key.
   */
  releaseKeyHash(sha256: string, accountId: string): void {
    this.#claims.release(sha256, accountId);
  }

  /** Ends all claims of an account to API keys that this object stores. Afterwards these keys have no owner. */
  releaseKeyHashes(accountId: string): void {
    this.#claims.releaseAll(accountId);
  }

  // Object `index:`: the jurisdiction of the deployment.

  /**
   * Stores the jurisdiction in which the deployment creates its objects, unless one is stored already. The first
   * request stores it, and nothing changes it later, because the relay would not find the existing tasks in another
   * jurisdiction.
   * @returns the stored jurisdiction, which is the given or an earlier one.
   */
  claimJurisdiction(jurisdiction: string): string {
    const { kv } = this.ctx.storage;
    const noted = kv.get<string>(JURISDICTION_KEY);
    if (noted === undefined) kv.put(JURISDICTION_KEY, jurisdiction);
    return noted ?? jurisdiction;
  }

  /** Handles the alarm of a ledger, which replaces old entries by their total. Objects of other kinds set none. */
  override alarm(): void {
    if (this.#profile.exists()) this.#ledger.compact(refundableMs(this.#retentionMs()));
  }

  /**
   * Returns the configured retention of tasks in milliseconds or, when the configuration is not valid, the longest
   * retention that can be configured.
   */
  #retentionMs(): number {
    return configOf(this.env)?.retentionMs ?? MAX_RETENTION_MS;
  }
}
