import { retryable } from "cloudflare:durable-objects";
import { isWanted } from "../config/operator-events.ts";
import { configOf, runtimeOf } from "../config/runtime.ts";
import type { ChargeAnswer } from "../core/events/event.ts";
import type { Adjustment, Booking } from "../core/ledger.ts";
import { MAX_RETENTION_MS, refundableMs } from "../core/policy.ts";
import { toSeconds } from "../core/time.ts";
import { log } from "../log.ts";
import { notifyOperator } from "../outbound/webhooks.ts";
import type { Profile } from "./account-profile.ts";
import type { StoredEntry } from "./entry-table.ts";
import { KeyMethods } from "./key-methods.ts";
import { type CreditAnswer, LedgerBook } from "./ledger-book.ts";

/**
 * Methods of account objects whose calls the platform may repeat after a lost connection to the object,
 * because a second call changes nothing more.
 */
const REPEATABLE = [
  "charge",
  "refund",
  "profile",
  "recentlyCharged",
  "describe",
  "useListedKey",
  "connectionState",
  "knownKind",
  "endSession",
  "isSessionEnded",
] as const;

export interface AccountState extends Profile {
  readonly balance: number;
}

/**
 * Durable Object of an account, of a sixteenth of all API keys, of a connection to a provider, of a
 * receiver's host or of the deployment: one class for objects of nine kinds, told apart by their names
 * (`object-names.ts`). An account id has no colon, so it cannot equal a name of another kind. Each object
 * uses the storage keys, tables and methods of its kind:
 *
 * | name                     | one per    | stores                              | methods                          |
 * | ------------------------ | ---------- | ----------------------------------- | -------------------------------- |
 * | account id               | account    | `account`, `fold_at`, `entries`     | `create` to `deleteLedger`       |
 * | `account-keys:<account>` | account    | `account`, table `api_keys`         | `createProfile` to `forgetKeys`  |
 * | `keys:<digit>`           | 16 in all  | claims to keys, by their SHA-256    | `claimKeyHash` to `releaseKeyHashes` |
 * | `listen:<account>`       | account    | nothing; holds the listeners' WebSockets | `fetch` to `closeListeners` |
 * | `connection:<name>`      | connection | `refused_at`, `told_at`, `durations`, `unclear` | `noteRefusedKey` to `takePollSlot` |
 * | `host:<host>`            | receiver   | `failures`, `told_at`               | `noteFailure`                    |
 * | `digest:<host>`          | receiver   | `digest`, `digest_closed`           | `noteFailedCallback`             |
 * | `sessions:`              | deployment | sessions of the console that somebody has logged out of | `endSession`, `isSessionEnded` |
 * | `index:`                 | deployment | `told_at`, `full_told_at`, `silent_told_at`, `jurisdiction` | `claimAlertSlot`, `claimJurisdiction` |
 *
 * `account` is the profile (account-profile.ts), `entries` the ledger (entry-table.ts), `api_keys` the list of
 * API keys (key-table.ts); claims to keys are in key-claims.ts. The object named after the account only books
 * credits. Requests are authenticated, and tasks without a price registered, without a call to it, because it
 * handles its calls one after the other. Both objects of an account store nothing until the account is created;
 * until then their other methods answer null, false or `unknown_account`. Methods contain no `await` where
 * possible, so that no other call can change the balance between the reading and the writing of one.
 */
export class AccountObject extends KeyMethods {
  static {
    for (const name of REPEATABLE) retryable(this.prototype[name]);
  }

  readonly #ledger = new LedgerBook(this.ctx.storage);

  /** Creates the ledger of an account unless it exists. @returns the account, and whether it is new. */
  create(): { readonly isNew: boolean; readonly account: AccountState } {
    const known = this.describe();
    if (known !== null) return { isNew: false, account: known };
    this.#ledger.create();
    const profile = { generation: 1, createdAt: Date.now(), deletedAt: null };
    return { isNew: true, account: { ...this.storedProfile.create(profile), balance: 0 } };
  }

  /** Returns the account with its balance, also after its deletion; null when it was never created. */
  describe(): AccountState | null {
    const profile = this.storedProfile.read();
    return profile === null ? null : { ...profile, balance: this.#ledger.balance() };
  }

  /**
   * Charges the price of a task. A repeated call with the same reference charges nothing more; see
   * `LedgerBook.charge`.
   * @param notAfter time after which the charge is not booked, in Unix milliseconds.
   * @param bookedBy name of the API key that registered the task; an earlier release sends none.
   */
  charge(
    order: Booking,
    taskId: string,
    notAfter: number,
    bookedBy: string | null = null,
  ): ChargeAnswer {
    const annotation = { taskId, bookedBy };
    return this.#ledger.charge(order, annotation, notAfter, this.storedProfile.read());
  }

  /** Refunds the charge of a task, once, also after the deletion of the account; see `LedgerBook.refund`. */
  refund(reference: string, taskId: string): boolean {
    return this.storedProfile.exists() && this.#ledger.refund(reference, taskId);
  }

  /** Books a grant. @param bookedBy name of the API key that orders it; an earlier release sends none. */
  grant(order: Booking, bookedBy: string | null = null): CreditAnswer | null {
    return this.storedProfile.active() === null ? null : this.#ledger.grant(order, bookedBy);
  }

  adjust(order: Adjustment, bookedBy: string | null = null): CreditAnswer | null {
    return this.storedProfile.active() === null ? null : this.#ledger.adjust(order, bookedBy);
  }

  /** Returns a page of ledger entries; see `LedgerBook.page`. Null when there is no such account. */
  entries(kind: "grant" | null, before: number, limit: number): StoredEntry[] | null {
    return this.storedProfile.exists() ? this.#ledger.page(kind, before, limit) : null;
  }

  /**
   * Returns the tasks of charges that were booked after `time` and are not refunded; see
   * `EntryTable.recentlyCharged`. Null when there is no such account.
   */
  recentlyCharged(time: number, limit: number): string[] | null {
    return this.storedProfile.exists() ? this.#ledger.recentlyCharged(time, limit) : null;
  }

  /**
   * Stores the newest generation of the callback secret, a number that each rotation of the secret raises.
   * The answer to a charge passes it on to the task.
   */
  noteGeneration(generation: number): void {
    this.storedProfile.noteGeneration(generation);
  }

  /**
   * Marks the account as deleted: later charges, grants and adjustments are refused, refunds are still
   * booked.
   * @param foldAt time from which one entry with their total replaces all ledger entries, in Unix
   * milliseconds.
   */
  deleteLedger(foldAt: number): void {
    const isActive = this.storedProfile.active() !== null;
    this.storedProfile.delete(Date.now());
    if (isActive) this.#ledger.foldAt(foldAt);
  }

  /**
   * Handles the alarm. An object with a ledger replaces old entries by their total. An object that counts the
   * failures of a receiver's host erases itself when there were none lately, and one that gathers failed
   * callbacks sends their digest. Objects of other kinds set no
   * alarm.
   */
  override async alarm(): Promise<void> {
    if (this.storedProfile.exists()) this.#ledger.compact(refundableMs(this.#retentionMs()));
    else if (!this.digest.isEmpty()) await this.#sendDigest();
    else await this.failures.eraseIfStale();
  }

  async #sendDigest(): Promise<void> {
    const runtime = await runtimeOf(this.env);
    if (!runtime.ok) return this.digest.postpone();
    const type = "callback.failed";
    await this.digest.send(async ({ host, since, failed, tasks }) => {
      if (!isWanted(runtime.value.config, type)) {
        log({ event: "operator.dropped", type, host, failed }, "warn");
        return true;
      }
      const event = { type, host, since: toSeconds(since), failed, tasks } as const;
      return notifyOperator(event, `callback.failed_${host}_${since}`, Date.now(), runtime.value);
    });
  }

  /**
   * Returns the configured retention of tasks, in milliseconds; the longest allowed one when the
   * configuration is not valid.
   */
  #retentionMs(): number {
    const config = configOf(this.env);
    return config.ok ? config.value.retentionMs : MAX_RETENTION_MS;
  }
}
