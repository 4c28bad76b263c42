import { AccountProfile, type Profile } from "./account-profile.ts";
import { FailureMethods } from "./failure-methods.ts";
import { KeyOwnership, type KeyUse } from "./key-ownership.ts";
import { KeyTable, type StoredKey } from "./key-table.ts";

/** Methods of `AccountObject` for the profile and the API keys of an account, and for a single API key. */
export abstract class KeyMethods extends FailureMethods {
  protected readonly storedProfile = new AccountProfile(this.ctx.storage.kv);
  readonly #keys = new KeyTable(this.ctx.storage.sql);
  readonly #ownership = new KeyOwnership(this.ctx.storage.kv);

  /** Stores the profile of an account unless there is one. */
  createProfile({ generation, createdAt }: Profile): void {
    this.#keys.create();
    this.storedProfile.create({ generation, createdAt, deletedAt: null });
  }

  profile(): Profile | null {
    return this.storedProfile.read();
  }

  /** Rotates the callback secret of the account; see `AccountProfile.rotate`. */
  rotateSecret(seen: number | null): Profile | null {
    return this.storedProfile.rotate(seen);
  }

  /** Adds an API key. @returns the stored key, which is an older one when its hash is known already. */
  addKey(key: StoredKey, sha256: string): StoredKey | null {
    return this.storedProfile.active() === null ? null : this.#keys.add(key, sha256);
  }

  keys(): StoredKey[] | null {
    return this.storedProfile.active() === null ? null : this.#keys.all();
  }

  keyHash(id: string): string | null {
    return this.storedProfile.exists() ? this.#keys.hashOf(id) : null;
  }

  removeKey(id: string): void {
    if (this.storedProfile.exists()) this.#keys.remove(id);
  }

  noteKeyUse(sha256: string, today: number): void {
    if (this.storedProfile.exists()) this.#keys.markUsed(sha256, today);
  }

  /** Marks the account as deleted. @returns the hashes of its API keys; null without such an account. */
  deleteProfile(): string[] | null {
    return this.storedProfile.delete(Date.now()) === null ? null : this.#keys.hashes();
  }

  /** Removes all keys from the list of a deleted account. */
  forgetKeys(): void {
    if (this.storedProfile.exists()) this.#keys.removeAll();
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
}
