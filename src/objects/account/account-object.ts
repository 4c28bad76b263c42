import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import { configOf, type WithStartup } from "../../config/runtime.ts";
import type { ChargeAnswer } from "../../core/events/event.ts";
import { type Adjustment, type Booking, hasBecomeLow } from "../../core/ledger.ts";
import { MAX_RETENTION_MS, refundableMs } from "../../core/policy.ts";
import type { AccountRole } from "../../security/roles.ts";
import {
  AccountProfile,
  type AccountSettings,
  type Profile,
  settingsOf,
  type StoredSettings,
} from "./account-profile.ts";
import {
  type EndpointOrder,
  EndpointStore,
  type PutAnswer,
  RELAY_ENDPOINTS,
  type StoredEndpoint,
} from "./endpoint-store.ts";
import type { StoredEntry } from "./entry-table.ts";
import { type KeyClaim, KeyClaims, type KeyUse } from "./key-claims.ts";
import { KeyTable, type StoredKey } from "./key-table.ts";
import { type CreditAnswer, LedgerBook, type SpendReport } from "./ledger-book.ts";
import { LowBalanceNotice } from "./low-balance-notice.ts";

/**
 * Methods that the platform may call again when the connection to the account's object was lost, because a repeated
 * call changes nothing more.
 */
const REPEATABLE = [
  "charge",
  "refund",
  "release",
  "profile",
  "endpoint",
  "endpoints",
  "putEndpoint",
  "deleteEndpoint",
  "recentlyCharged",
  "describe",
  "noteSettings",
  "spend",
  "useListedKey",
] as const;

const JURISDICTION_KEY = "jurisdiction";

export interface AccountState extends Profile {
  readonly balance: number;
  /** Cost of the charges of the present month (UTC), in credits. */
  readonly monthSpent: number;
}

/** The profile of an account, with the endpoint of its tasks that name no receiver, if there is one. */
export interface KnownProfile extends Profile {
  readonly defaultEndpoint?: StoredEndpoint;
}

/**
 * Durable Object with what accounts own: credits and API keys (binding `ACCOUNTS`). There are five kinds of such
 * objects, which differ by their names (`objects/object-names.ts`). They are of one class, because the platform cannot
 * move an object to another class, and what these objects store must never be lost. An account id has no colon, so it
 * never equals a name of another kind.
 *
 * - `<account id>`, one per account: stores `profile`, `fold_at`, `low_balance_notice`, `spend_counted` and the tables
 *   `entries` and `spend`. Called by task objects, once to charge a task with a price and once to refund or release it,
 *   and by the routes of credits.
 * - `account-keys:<account id>`, one per account: stores `profile`, `endpoint:<name>` for each endpoint, and the table
 *   `api_keys`. Called for an API key, by each isolate at most once a minute, by the routes of keys, secrets and
 *   endpoints, and for each task that names an endpoint.
 * - `relay-endpoints:`, one per deployment: stores `endpoint:<name>` for each endpoint of the relay. Called by the
 *   routes of endpoints, for each task without an account that names an endpoint, and, for tasks that have neither an
 *   account nor a receiver, by each isolate at most once a minute.
 * - `keys:<digit>`, 16 in all: stores which account owns which API key, by the SHA-256 of the key. Called for a key
 *   that the relay has not generated, by each isolate at most once a minute, and for each key that is added or removed.
 * - `index:`, one per deployment: stores `jurisdiction`, and has nothing to do with the index of tasks. Called once by
 *   each isolate.
 *
 * The index also stores the id of each account, for lists, and the account of each task (index-db/schema.ts).
 *
 * `profile` is described in account-profile.ts, endpoints in endpoint-store.ts, the ledger `entries` in entry-table.ts,
 * `spend` in spend-table.ts, the list of API keys `api_keys` in key-table.ts, and the owners of keys in key-claims.ts.
 * The object named after the account handles its calls one after the other. It therefore only books credits: requests
 * are authenticated without it, and tasks without a price are registered without it. Both objects of an account store
 * nothing until the account is created. Until then, their other methods answer null, false or `unknown_account`.
 * Methods contain no `await` where possible, so that no other call can change the balance while one call reads and then
 * writes it.
 */
export class AccountObject extends DurableObject<WithStartup> {
  static {
    for (const name of REPEATABLE) retryable(this.prototype[name]);
  }

  readonly #profile = new AccountProfile(this.ctx.storage.kv);
  readonly #lowBalance = new LowBalanceNotice(this.ctx, () => this.env);
  readonly #ledger = new LedgerBook(this.ctx.storage, this.#lowBalance);
  readonly #endpoints = new EndpointStore(this.ctx.storage.kv);
  readonly #keys = new KeyTable(this.ctx.storage.sql);
  readonly #claims = new KeyClaims(this.ctx.storage.kv);

  // Object `<account id>`: books the credits of an account.

  /**
   * Creates the ledger of an account, unless it exists already.
   * @returns the account, and whether it is new.
   */
  create(): { readonly isNew: boolean; readonly account: AccountState } {
    const known = this.describe();
    if (known !== null) return { isNew: false, account: known };
    this.#ledger.create();
    const profile = { generation: 1, createdAt: Date.now(), deletedAt: null };
    const account = { ...this.#profile.create(profile), balance: 0, monthSpent: 0 };
    return { isNew: true, account };
  }

  /** Returns the account with its balance, even after its deletion. Null when the account was never created. */
  describe(): AccountState | null {
    const profile = this.#profile.read();
    if (profile === null) return null;
    const { balance, monthSpent } = this.#ledger.standing();
    return { ...profile, balance, monthSpent };
  }

  /**
   * Replaces the settings of the account, and stores a notice for the operator when the balance is low by the new ones
   * and was not by the former ones.
   * @returns the account; null when it does not exist or was deleted.
   */
  replaceSettings(settings: AccountSettings): AccountState | null {
    const before = this.#profile.active();
    const profile = this.#profile.replaceSettings(settings);
    if (before === null || profile === null) return null;
    const { balance, monthSpent } = this.#ledger.standing();
    const now = { balance, lowBalance: settings.lowBalance };
    const { lowBalance } = settingsOf(before);
    if (hasBecomeLow({ balance, lowBalance }, now)) this.#lowBalance.note(now);
    return { ...profile, balance, monthSpent };
  }

  /**
   * Charges the price of a task. A repeated call with the same reference charges nothing more; see `LedgerBook.charge`.
   * @param notAfter time after which the charge is not booked, in Unix milliseconds.
   * @param bookedBy name of the API key with which the task was registered; null when there was none.
   */
  charge(
    order: Booking,
    taskId: string,
    notAfter: number,
    bookedBy: string | null,
    model: string,
  ): ChargeAnswer {
    const annotation = { taskId, bookedBy, model };
    return this.#ledger.charge(order, annotation, notAfter, this.#profile.read());
  }

  /**
   * Refunds the charge of a task. A repeated call refunds nothing more. It works even after the deletion of the
   * account; see `LedgerBook.refund`.
   */
  refund(reference: string, taskId: string): boolean {
    return this.#profile.exists() && this.#ledger.refund(reference, taskId);
  }

  /**
   * Gives back a part of the charge of a task that costs less than was charged. A repeated call gives back nothing
   * more. It works even after the deletion of the account; see `LedgerBook.release`.
   */
  release(order: Booking, taskId: string): boolean {
    return this.#profile.exists() && this.#ledger.release(order, taskId);
  }

  /**
   * Books a grant of credits. Null when the account does not exist or was deleted.
   * @param bookedBy name of the API key that orders the grant; null when there is none.
   */
  grant(order: Booking, bookedBy: string | null = null): CreditAnswer | null {
    return this.#profile.active() === null ? null : this.#ledger.grant(order, bookedBy);
  }

  adjust(order: Adjustment, bookedBy: string | null = null): CreditAnswer | null {
    const profile = this.#profile.active();
    return profile === null ? null : this.#ledger.adjust(order, bookedBy, profile);
  }

  /** Returns a page of ledger entries; see `LedgerBook.page`. Null when there is no such account. */
  entries(kind: "grant" | null, before: number, limit: number): StoredEntry[] | null {
    return this.#profile.exists() ? this.#ledger.page(kind, before, limit) : null;
  }

  /**
   * Reports what the account has spent from the day `since` until before the day `until`; see `LedgerBook.spend`. Null
   * when there is no such account. `counting` means that the call is to be repeated.
   */
  spend(since: number, until: number): SpendReport | "counting" | null {
    return this.#profile.exists() ? (this.#ledger.spend(since, until) ?? "counting") : null;
  }

  /**
   * Returns the ids of tasks whose charges were booked after `time` and of whose credits nothing was given back since;
   * see `EntryTable.recentlyCharged`. Null when there is no such account.
   */
  recentlyCharged(time: number, limit: number): string[] | null {
    return this.#profile.exists() ? this.#ledger.recentlyCharged(time, limit) : null;
  }

  /**
   * Stores the latest generation of the account's callback secret (a number that each rotation of the secret raises) in
   * the object of the ledger. The answer to a charge contains it, so that the task can store it.
   */
  noteGeneration(generation: number): void {
    this.#profile.noteGeneration(generation);
  }

  /**
   * Marks the account as deleted. From then on, charges, grants and adjustments are refused; refunds and releases are
   * still booked.
   * @param foldAt time from which one entry with the balance replaces all ledger entries, in Unix milliseconds.
   */
  deleteLedger(foldAt: number): void {
    const isActive = this.#profile.active() !== null;
    this.#profile.delete(Date.now());
    if (isActive) this.#ledger.foldAt(foldAt);
  }

  // Object `account-keys:<account>`: the profile of an account and the list of its API keys.

  /** Stores the profile of an account unless one is stored already. */
  createProfile({ generation, createdAt, settings }: Profile): void {
    const copied = settings === undefined ? {} : { settings };
    this.#profile.create({ generation, createdAt, deletedAt: null, ...copied });
  }

  /** Stores a copy of the settings that the ledger's object has stored; see `AccountProfile.noteSettings`. */
  noteSettings(settings: StoredSettings): void {
    this.#profile.noteSettings(settings);
  }

  /** Returns the profile of the account, with the endpoint of its tasks that name no receiver. */
  profile(): KnownProfile | null {
    const profile = this.#profile.read();
    return profile && { ...profile, ...this.#endpoints.default() };
  }

  /**
   * Rotates the account's callback secret: its generation, a number, rises by one.
   * @param seen the generation that the caller knows. Nothing changes when another one is stored. Null rotates in any
   * case.
   * @returns the profile, changed or not; null when the account does not exist or was deleted.
   */
  rotateSecret(seen: number | null): Profile | null {
    return this.#profile.rotate(seen);
  }

  /**
   * Adds an API key to the list of the account.
   * @returns the stored key. It is an older one when the list has a key with the same hash already. Null when the
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
   * Returns the role of an API key of the account, and stores on which day the key was used; see `KeyTable.use`. Null
   * when the account has no such key, or was deleted.
   */
  useListedKey(sha256: string, today: number): AccountRole | null {
    return this.#profile.active() === null ? null : this.#keys.use(sha256, today);
  }

  /**
   * Marks the account as deleted, and deletes its endpoints.
   * @returns the hashes of its API keys; null when there is no such account.
   */
  deleteProfile(): string[] | null {
    if (this.#profile.delete(Date.now()) === null) return null;
    this.#endpoints.deleteAll();
    return this.#keys.hashes();
  }

  /** Removes all keys from the list of a deleted account. */
  forgetKeys(): void {
    if (this.#profile.exists()) this.#keys.removeAll();
  }

  // Objects `account-keys:<account>` and `relay-endpoints:`: the endpoints of an account, or of the relay.

  /** Returns an endpoint. Null when there is none with this name, and for an account that does not exist. */
  endpoint(name: string): StoredEndpoint | null {
    return this.#mayHaveEndpoints() ? this.#endpoints.find(name) : null;
  }

  /** Returns all endpoints, in the order of their names. Null for an account that does not exist or was deleted. */
  endpoints(): StoredEndpoint[] | null {
    return this.#mayHaveEndpoints() ? this.#endpoints.all() : null;
  }

  /** Stores an endpoint in place of the one with its name. Null for an account that does not exist or was deleted. */
  putEndpoint(order: EndpointOrder): PutAnswer | null {
    return this.#mayHaveEndpoints() ? this.#endpoints.put(order) : null;
  }

  /** Rotates the secret of an endpoint; see `EndpointStore.rotate`. */
  rotateEndpointSecret(name: string, seen: number | null): StoredEndpoint | null {
    return this.#mayHaveEndpoints() ? this.#endpoints.rotate(name, seen) : null;
  }

  /** Deletes an endpoint, if there is one. @returns false for an account that does not exist or was deleted. */
  deleteEndpoint(name: string): boolean {
    if (!this.#mayHaveEndpoints()) return false;
    this.#endpoints.delete(name);
    return true;
  }

  #mayHaveEndpoints(): boolean {
    return this.ctx.id.name === RELAY_ENDPOINTS || this.#profile.active() !== null;
  }

  // Objects `keys:<digit>`: which account owns an API key.

  /**
   * Makes an account the owner of an API key, unless the key has an owner already.
   * @returns the stored owner, and the role of the key.
   */
  claimKeyHash(sha256: string, claim: KeyClaim): KeyClaim {
    return this.#claims.claim(sha256, claim);
  }

  /** Returns the owner of an API key, and stores on which day the key was used; see `KeyClaims.use`. */
  useKeyHash(sha256: string, today: number): KeyUse | null {
    return this.#claims.use(sha256, today);
  }

  /**
   * Removes an account as the owner of an API key, which then has no owner. Nothing changes when another account owns
   * the key.
   */
  releaseKeyHash(sha256: string, accountId: string): void {
    this.#claims.release(sha256, accountId);
  }

  /** Removes an account as the owner of all its API keys that this object stores. These keys then have no owner. */
  releaseKeyHashes(accountId: string): void {
    this.#claims.releaseAll(accountId);
  }

  // Object `index:`: the jurisdiction of the deployment.

  /**
   * Stores the jurisdiction in which the deployment creates its objects, unless one is stored already. The first
   * request stores it, and nothing changes it later: in another jurisdiction the relay would not find the existing
   * tasks.
   * @returns the stored jurisdiction: the given one or an earlier one.
   */
  claimJurisdiction(jurisdiction: string): string {
    const { kv } = this.ctx.storage;
    const noted = kv.get<string>(JURISDICTION_KEY);
    if (noted === undefined) kv.put(JURISDICTION_KEY, jurisdiction);
    return noted ?? jurisdiction;
  }

  /**
   * Handles the alarm of a ledger: replaces old entries by one with the balance after them, and sends the notice of a low
   * balance. Objects of this class without a ledger set no alarm.
   */
  override async alarm(): Promise<void> {
    if (!this.#profile.exists()) return;
    this.#ledger.compact(refundableMs(this.#retentionMs()));
    await this.#lowBalance.send();
  }

  /**
   * Returns the configured retention of tasks in milliseconds or, when the configuration is not valid, the longest
   * retention that can be configured.
   */
  #retentionMs(): number {
    return configOf(this.env)?.retentionMs ?? MAX_RETENTION_MS;
  }
}
