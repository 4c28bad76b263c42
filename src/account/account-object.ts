import { DurableObject } from "cloudflare:workers";
import type { ChargeAnswer } from "../core/events/event.ts";
import { charge, grant, type Booking, type Posting, refund } from "../core/ledger.ts";
import { RefusedCharges } from "./refused-charges.ts";
import { FailureTracker } from "./failure-tracker.ts";
import { AccountStore, type StoredEntry, type StoredKey } from "./account-store.ts";
import { DAY_MS } from "../core/time.ts";

export interface AccountState {
  readonly balance: number;
  /** Generation of the callback secret; the first is 1. */
  readonly generation: number;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

export type GrantAnswer =
  | { readonly kind: "granted" | "repeated"; readonly balance: number }
  | { readonly kind: "reference_reused" | "too_large" };

type Profile = Omit<AccountState, "balance">;

const PROFILE_KEY = "account";
const OWNER_KEY = "owner";
const FOLD_EVERY_MS = 28 * DAY_MS;
const FOLD_PAUSE_MS = 1_000;
const FOLD_AFTER_MS = 400 * DAY_MS;

/**
 * One account: it serialises the money. Each method is one synchronous turn over the store, so two
 * orders never see the same balance. Until `create` it stores nothing and answers null.
 */
export class AccountObject extends DurableObject<object> {
  readonly #store = new AccountStore(this.ctx.storage.sql);
  readonly #trouble = new FailureTracker(this.ctx.storage.kv);
  readonly #refusals = new RefusedCharges();

  create(): { readonly isNew: boolean; readonly account: AccountState } {
    const known = this.describe();
    if (known !== null) return { isNew: false, account: known };
    const profile: Profile = { generation: 1, createdAt: Date.now() };
    this.#store.createTables();
    this.ctx.storage.kv.put(PROFILE_KEY, profile);
    void this.ctx.storage.setAlarm(Date.now() + FOLD_EVERY_MS);
    return { isNew: true, account: { ...profile, balance: 0 } };
  }

  describe(): AccountState | null {
    const profile = this.#profile();
    return profile === null ? null : { ...profile, balance: this.#store.balance() };
  }

  /**
   * @param notAfter Unix milliseconds. A call that was on its way for longer is not booked: its task may
   * have been refused meanwhile, and is gone.
   */
  charge(order: Booking, taskId: string, notAfter: number): ChargeAnswer {
    const { reference, amount: price } = order;
    if (Date.now() > notAfter) return { kind: "unknown" };
    const profile = this.#profile();
    if (profile === null) {
      return this.#refusals.note(reference, { kind: "unknown_account" });
    }
    const known = this.#store.find("charge", reference);
    const refused = known === null ? this.#refusals.of(reference) : null;
    if (refused !== null) return refused;
    const balance = this.#store.balance();
    const posting = charge(balance, known, order);
    if (posting.kind === "refused") {
      if (posting.reason !== "insufficient") throw new Error(`charge refused: ${posting.reason}`);
      const answer = { kind: "insufficient", balance, price } as const;
      return this.#refusals.note(reference, answer);
    }
    this.#book(posting, taskId);
    return { kind: "charged", generation: profile.generation };
  }

  /** Whether the charge is back; false when there was none. */
  refund(reference: string, taskId: string): boolean {
    if (this.#profile() === null) return false;
    const charged = this.#store.find("charge", reference);
    const known = this.#store.find("refund", reference);
    return this.#book(refund(this.#store.balance(), charged, known), taskId);
  }

  grant(order: Booking): GrantAnswer | null {
    if (this.#profile() === null) return null;
    const known = this.#store.find("grant", order.reference);
    const posting = grant(this.#store.balance(), known, order);
    if (posting.kind === "refused") {
      return { kind: posting.reason === "reference_reused" ? "reference_reused" : "too_large" };
    }
    this.#book(posting, null);
    const kind = posting.kind === "book" ? "granted" : "repeated";
    return { kind, balance: this.#store.balance() };
  }

  entries(kind: "grant" | null, before: number, limit: number): StoredEntry[] | null {
    return this.#profile() === null ? null : this.#store.page(kind, before, limit);
  }

  /** Keeps a key; one that is known by its hash already stays as it is. */
  addKey(key: StoredKey, sha256: string): StoredKey | null {
    if (this.#profile() === null) return null;
    const known = this.#store.findKey(sha256);
    if (known === null) this.#store.addKey(key, sha256);
    return known ?? key;
  }

  keys(): StoredKey[] | null {
    return this.#profile() === null ? null : this.#store.keys();
  }

  keyHash(id: string): string | null {
    return this.#profile() === null ? null : this.#store.keyHash(id);
  }

  removeKey(id: string): void {
    if (this.#profile() !== null) this.#store.removeKey(id);
  }

  verifyKey(sha256: string): boolean {
    if (this.#profile() === null) return false;
    const key = this.#store.findKey(sha256);
    if (key === null) return false;
    const today = Math.floor(Date.now() / DAY_MS);
    if (key.lastUsedDay !== today) this.#store.markUsed(key.id, today);
    return true;
  }

  /** Raises the generation. @param seen only from this one, so that a repeated order rotates once. */
  rotateSecret(seen: number | null): AccountState | null {
    const profile = this.#profile();
    if (profile === null || (seen !== null && seen !== profile.generation)) return this.describe();
    const rotated: Profile = { ...profile, generation: profile.generation + 1 };
    this.ctx.storage.kv.put(PROFILE_KEY, rotated);
    return this.describe();
  }

  override async alarm(): Promise<void> {
    if (this.#profile() === null) {
      if (this.#trouble.staleAt() > Date.now()) this.#forgetWhenStale();
      else await this.ctx.storage.deleteAll();
      return;
    }
    // Before the work, so that a throw leaves an alarm behind.
    void this.ctx.storage.setAlarm(Date.now() + FOLD_EVERY_MS);
    const hasMore = this.#store.compact(Date.now() - FOLD_AFTER_MS);
    if (hasMore) void this.ctx.storage.setAlarm(Date.now() + FOLD_PAUSE_MS);
  }

  /**
   * Who owns a key is kept in an object named after the key's hash, which holds nothing else, so that
   * keys can be tried without reaching an account.
   * @returns the account that the key belongs to, which may have been another already.
   */
  claimKey(accountId: string): string {
    const owner = this.ctx.storage.kv.get<string>(OWNER_KEY);
    if (owner === undefined) this.ctx.storage.kv.put(OWNER_KEY, accountId);
    return owner ?? accountId;
  }

  keyOwner(): string | null {
    return this.ctx.storage.kv.get<string>(OWNER_KEY) ?? null;
  }

  async disownKey(accountId: string): Promise<void> {
    if (this.keyOwner() === accountId) await this.ctx.storage.deleteAll();
  }

  /** In the object of a connection; see `Trouble`. */
  noteRefusedKey(): boolean {
    return this.#trouble.noteRefusedKey(Date.now());
  }

  keyRefusedAt(): number | null {
    return this.#trouble.refusedAt();
  }

  /** In the object of a receiver's host; see `Trouble`. */
  async noteFailure(): Promise<boolean> {
    const isTimely = this.#trouble.noteFailure(Date.now());
    if ((await this.ctx.storage.getAlarm()) === null) this.#forgetWhenStale();
    return isTimely;
  }

  /** In the object of the index; see `Trouble`. */
  claimAlertSlot(): boolean {
    return this.#trouble.claimAlertSlot(Date.now());
  }

  /** Clients choose their hosts, so the objects of those do not stay. */
  #forgetWhenStale(): void {
    void this.ctx.storage.setAlarm(this.#trouble.staleAt() + 1_000);
  }

  #profile(): Profile | null {
    return this.ctx.storage.kv.get<Profile>(PROFILE_KEY) ?? null;
  }

  #book(posting: Posting, taskId: string | null): boolean {
    if (posting.kind === "refused") return false;
    if (posting.kind === "book") this.#store.insert(posting.entry, taskId, Date.now());
    return true;
  }
}
