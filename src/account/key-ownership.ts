const OWNER_KEY = "owner";

/**
 * Account that owns one API key, under the key `owner`. It has an object of its own, named after the
 * key's hash, so that a request with a guessed key never reaches an account.
 */
export class KeyOwnership {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Returns the id of the account; null when nobody owns the key. */
  owner(): string | null {
    return this.#kv.get<string>(OWNER_KEY) ?? null;
  }

  /** Claims the key for an account. @returns its owner, which stays the first account that claimed it. */
  claim(accountId: string): string {
    const owner = this.owner();
    if (owner === null) this.#kv.put(OWNER_KEY, accountId);
    return owner ?? accountId;
  }
}
