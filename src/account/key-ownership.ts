const OWNER_KEY = "owner";

/**
 * Store of the account that owns one API key, under the key `owner`. Each API key has an object of its own,
 * named after its hash, so that a request with a guessed key never reaches an account.
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
   * Claims the API key for an account.
   * @returns the owner of the key, which stays the first account that claimed it.
   */
  claim(accountId: string): string {
    const owner = this.owner();
    if (owner === null) this.#kv.put(OWNER_KEY, accountId);
    return owner ?? accountId;
  }
}
