const OWNER_KEY = "account_id";
const USED_KEY = "used_day";

/** Answer to a request that brought an API key. */
export interface KeyUse {
  readonly accountId: string;
  /** States that this is the first use of the key on this day (UTC), so that the use is recorded once a day. */
  readonly isFirstOfDay: boolean;
}

/**
 * Account that owns one API key. It has an object of its own, named after the key's hash, which alone
 * decides whether the key is valid: a request reaches no account before its key is known.
 */
export class KeyOwnership {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Returns the id of the account that owns the API key; null when no account owns the key. */
  owner(): string | null {
    return this.#kv.get<string>(OWNER_KEY) ?? null;
  }

  /**
   * Returns whose key it is; null for an unknown or revoked key. Notes the day of the use, at most once a
   * day because every write costs. @param today days since 1970-01-01 UTC.
   */
  use(today: number): KeyUse | null {
    const accountId = this.owner();
    if (accountId === null) return null;
    const isFirstOfDay = this.#kv.get<number>(USED_KEY) !== today;
    if (isFirstOfDay) this.#kv.put(USED_KEY, today);
    return { accountId, isFirstOfDay };
  }

  /**
   * Claims the API key for an account.
   * @returns the owner of the key, which stays the first account that claimed it.
   */
  claim(accountId: string): string {
    const owner = this.owner();
    if (owner === null) this.#kv.put(OWNER_KEY, accountId);
    return owner ?? accountId;
  }
}
