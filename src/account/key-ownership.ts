const OWNER_KEY = "account_id";
const USED_KEY = "used_day";

/**
 * Result of looking up the API key of a request: its owner, and whether the key is used for the first time
 * today.
 */
export interface KeyUse {
  readonly accountId: string;
  /**
   * True when the key was not used before on this day (UTC). The caller then records the use in the account's
   * list of keys, so once a day.
   */
  readonly isFirstOfDay: boolean;
}

/**
 * Ownership of one API key. Each key has a Durable Object of its own, named after the key's hash, which
 * stores the account that owns the key. Only this object decides whether the key is valid, so a request with
 * an unknown key causes no call to any account's object. Requests ask it through api/http/key-owner.ts.
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
   * Returns the account that owns the API key, and stores the day of the use, at most once a day because
   * every write costs; null for an unknown or revoked key.
   * @param today days since 1970-01-01 UTC.
   */
  use(today: number): KeyUse | null {
    const accountId = this.owner();
    if (accountId === null) return null;
    const isFirstOfDay = this.#kv.get<number>(USED_KEY) !== today;
    if (isFirstOfDay) this.#kv.put(USED_KEY, today);
    return { accountId, isFirstOfDay };
  }

  /**
   * Makes an account the owner of the API key, unless the key has an owner.
   * @returns the owner of the key.
   */
  claim(accountId: string): string {
    const owner = this.owner();
    if (owner === null) this.#kv.put(OWNER_KEY, accountId);
    return owner ?? accountId;
  }
}
