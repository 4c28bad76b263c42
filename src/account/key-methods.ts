import type { AccountRole } from "../security/roles.ts";
import { AccountProfile, type Profile } from "./account-profile.ts";
import { FailureMethods } from "./failure-methods.ts";
import { type KeyClaim, KeyClaims, type KeyUse } from "./key-claims.ts";
import { KeyTable, type StoredKey } from "./key-table.ts";

/**
 * Methods of `AccountObject` for the profile and the API keys of one account, and for the claims of all
 * accounts to API keys, which tell whose key it is.
 */
export abstract class KeyMethods extends FailureMethods {
  protected readonly storedProfile = new AccountProfile(this.ctx.storage.kv);
  readonly #keys = new KeyTable(this.ctx.storage.sql);
  readonly #claims = new KeyClaims(this.ctx.storage.kv);

  /** Stores the profile of an account unless there is one. */
  createProfile({ generation, createdAt }: Profile): void {
    this.storedProfile.create({ generation, createdAt, deletedAt: null });
  }

  profile(): Profile | null {
    return this.storedProfile.read();
  }

  /**
   * Rotates the account's callback secret, which raises its generation by one. Nothing changes when the
   * generation is not `seen`, the one that the caller knows; null rotates in any case.
   * @returns the profile, changed or not; null when the account does not exist or was deleted.
   */
  rotateSecret(seen: number | null): Profile | null {
    return this.storedProfile.rotate(seen);
  }

  /**
   * Adds an API key to the list of the account.
   * @returns the stored key, which is an older one when its hash is known already.
   */
  addListedKey(key: StoredKey): StoredKey | null {
    return this.storedProfile.active() === null ? null : this.#keys.add(key);
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

  /** Returns the role of an API key of the account, and stores the day of its use; see `KeyTable.use`. */
  useListedKey(sha256: string, today: number): AccountRole | null {
    return this.storedProfile.active() === null ? null : this.#keys.use(sha256, today);
  }

  /** Marks the account as deleted. @returns the hashes of its API keys; null without such an account. */
  deleteProfile(): string[] | null {
    return this.storedProfile.delete(Date.now()) === null ? null : this.#keys.hashes();
  }

  /** Removes all keys from the list of a deleted account. */
  forgetKeys(): void {
    if (this.storedProfile.exists()) this.#keys.removeAll();
  }

  /** Makes an account the owner of an API key, unless the key has one. @returns the stored claim. */
  claimKeyHash(sha256: string, claim: KeyClaim): KeyClaim {
    return this.#claims.claim(sha256, claim);
  }

  /** Returns the owner of an API key, and stores the day of the use; see `KeyClaims.use`. */
  useKeyHash(sha256: string, today: number): KeyUse | null {
    return this.#claims.use(sha256, today);
  }

  /**
   * Ends the claim of an account to an API key, which then has no owner; changes nothing if another account
   * owns the key.
   */
  releaseKeyHash(sha256: string, accountId: string): void {
    this.#claims.release(sha256, accountId);
  }

  /** Ends all claims of an account to API keys that this object stores: afterwards the keys have no owner. */
  releaseKeyHashes(accountId: string): void {
    this.#claims.releaseAll(accountId);
  }
}
