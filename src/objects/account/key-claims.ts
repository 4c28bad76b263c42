import type { AccountRole } from "../../security/roles.ts";

/** The account that owns an API key, and the role of the key. */
export interface KeyClaim {
  readonly accountId: string;
  readonly role: AccountRole;
}

/** The account and the role of the API key that a request uses. */
export interface KeyUse extends KeyClaim {
  /**
   * True when the key is used for the first time on this day (UTC). The caller then stores the use in the account's
   * list of keys, which costs one write per key and day.
   */
  readonly isFirstOfDay: boolean;
}

interface StoredClaim extends KeyClaim {
  /**
   * Day on which this object was last asked for the owner of the key, in days since 1970-01-01 UTC. Null when it
   * was never asked.
   */
  readonly lastUsedDay: number | null;
}

/**
 * Claims of accounts to API keys, stored under the hash of each key. They are spread over 16 objects by the first
 * digit of the hash, so that requests with invented keys create no further objects. A request with an unknown key
 * writes nothing. The claims decide which account owns an imported key, i.e. a key that the operator has chosen. A
 * key that the relay has generated contains a MAC that proves its owner. Only if the secret of that MAC is no
 * longer configured, the claims decide about this key too (api/http/key-owner.ts).
 */
export class KeyClaims {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /**
   * Makes an account the owner of an API key, unless the key has an owner already.
   * @returns the stored claim.
   */
  claim(sha256: string, { accountId, role }: KeyClaim): KeyClaim {
    const known = this.#read(sha256);
    if (known !== null) return { accountId: known.accountId, role: known.role };
    this.#kv.put<StoredClaim>(sha256, { accountId, role, lastUsedDay: null });
    return { accountId, role };
  }

  /**
   * Returns the owner of an API key, and stores the day of the use. The day is written at most once a day, because
   * every write costs money. Null for an unknown or revoked key.
   * @param today days since 1970-01-01 UTC.
   */
  use(sha256: string, today: number): KeyUse | null {
    const claim = this.#read(sha256);
    if (claim === null) return null;
    const isFirstOfDay = claim.lastUsedDay !== today;
    if (isFirstOfDay) this.#kv.put<StoredClaim>(sha256, { ...claim, lastUsedDay: today });
    return { accountId: claim.accountId, role: claim.role, isFirstOfDay };
  }

  /** Removes the entry that names the owner of an API key (its claim), if the given account owns the key. */
  release(sha256: string, accountId: string): void {
    if (this.#read(sha256)?.accountId === accountId) this.#kv.delete(sha256);
  }

  /**
   * Removes all entries of this object that name an account as the owner of an API key (its claims), including those
   * for keys that the account's list of keys lacks.
   */
  releaseAll(accountId: string): void {
    const claims = Array.from(this.#kv.list<StoredClaim>());
    for (const [sha256, claim] of claims) {
      if (claim.accountId === accountId) this.#kv.delete(sha256);
    }
  }

  #read(sha256: string): StoredClaim | null {
    return this.#kv.get<StoredClaim>(sha256) ?? null;
  }
}
