import type { AccountRole } from "../../security/roles.ts";

/** The account that owns an API key, and the role of the key. */
export interface KeyClaim {
  readonly accountId: string;
  readonly role: AccountRole;
}

/** The account that owns the API key of a request, and the role of the key. */
export interface KeyUse extends KeyClaim {
  /**
   * True when the key is used for the first time on this day (UTC). The caller then stores the use in the account's
   * list of keys, so that this costs one write per key and day.
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
 * Stores which account owns which API key, under the hash of each key (a claim of the account to the key). The claims
 * are spread over 16 objects by the first digit of the hash, so that requests with invented keys create no further
 * objects. A request with an unknown key writes nothing. The claims decide which account owns an imported key, i.e. one
 * that the operator has chosen. A key that the relay has generated contains a MAC that proves its owner; the claims
 * decide about it only if the secret of that MAC is no longer configured (api/http/key-owner.ts).
 */
export class KeyClaims {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /**
   * Makes an account the owner of an API key, unless the key has an owner already.
   * @returns the stored owner, and the role of the key.
   */
  claim(sha256: string, { accountId, role }: KeyClaim): KeyClaim {
    const known = this.#read(sha256);
    if (known !== null) return { accountId: known.accountId, role: known.role };
    this.#kv.put<StoredClaim>(sha256, { accountId, role, lastUsedDay: null });
    return { accountId, role };
  }

  /**
   * Returns the owner of an API key, and stores on which day the key was used. The day is written at most once a day,
   * because every write costs money. Null for an unknown or revoked key.
   * @param today days since 1970-01-01 UTC.
   */
  use(sha256: string, today: number): KeyUse | null {
    const claim = this.#read(sha256);
    if (claim === null) return null;
    const isFirstOfDay = claim.lastUsedDay !== today;
    if (isFirstOfDay) this.#kv.put<StoredClaim>(sha256, { ...claim, lastUsedDay: today });
    return { accountId: claim.accountId, role: claim.role, isFirstOfDay };
  }

  /**
   * Removes the entry which states that this account owns this API key. Nothing changes when another account owns the
   * key.
   */
  release(sha256: string, accountId: string): void {
    if (this.#read(sha256)?.accountId === accountId) this.#kv.delete(sha256);
  }

  /**
   * Removes all entries of this object which state that the account owns an API key, including those for keys that are
   * missing in the account's list of keys.
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
