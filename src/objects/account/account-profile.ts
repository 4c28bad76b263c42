/** Data of an account, except its ledger and its API keys. All times are Unix milliseconds. */
export interface Profile {
  /**
   * Generation of the callback secret: a number that begins at 1 and that each rotation of the secret raises by
   * one.
   */
  readonly generation: number;
  readonly createdAt: number;
  /** Time at which the account was deleted, in Unix milliseconds; null when it was not. */
  readonly deletedAt: number | null;
}

const PROFILE_KEY = "profile";

/**
 * Profile of an account. It is stored under the key `profile` in two Durable Objects. The valid one is in the object
 * `account-keys:<account>`; it is read when a task or an API key of the account is added, and when the account's
 * secrets are read. The object that books the account's credits has a copy, in which the latest rotation of the
 * callback secret may be missing.
 */
export class AccountProfile {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Returns the profile of the account, also of a deleted one. Null when the account does not exist. */
  read(): Profile | null {
    return this.#kv.get<Profile>(PROFILE_KEY) ?? null;
  }

  /** Tells whether the account exists. A deleted account exists too. */
  exists(): boolean {
    return this.read() !== null;
  }

  /** Returns the profile of the account. Null when the account does not exist or was deleted. */
  active(): Profile | null {
    const profile = this.read();
    return profile?.deletedAt === null ? profile : null;
  }

  /**
   * Stores the profile, unless one is stored already.
   * @returns the stored profile.
   */
  create(profile: Profile): Profile {
    return this.read() ?? this.#write(profile);
  }

  /**
   * Rotates the callback secret of the account by raising its generation by one.
   * @param seen the generation that the caller knows. If another generation is stored, nothing changes, so that a
   * repeated request does not rotate the secret again. Null rotates in any case.
   * @returns the stored profile, changed or not; null when the account does not exist or was deleted.
   */
  rotate(seen: number | null): Profile | null {
    const profile = this.active();
    if (profile === null || (seen !== null && seen !== profile.generation)) return profile;
    return this.#write({ ...profile, generation: profile.generation + 1 });
  }

  /**
   * Stores a new generation of the callback secret in the copy of the profile in the ledger's object. Nothing changes
   * when the generation is not higher than the stored one.
   */
  noteGeneration(generation: number): void {
    const profile = this.read();
    if (profile !== null && profile.generation < generation) {
      this.#write({ ...profile, generation });
    }
  }

  /**
   * Marks the account as deleted. A repeated call does not change the time of the deletion.
   * @returns the profile of the account; null when the account does not exist.
   */
  delete(now: number): Profile | null {
    const profile = this.read();
    if (profile === null || profile.deletedAt !== null) return profile;
    return this.#write({ ...profile, deletedAt: now });
  }

  #write(profile: Profile): Profile {
    this.#kv.put(PROFILE_KEY, profile);
    return profile;
  }
}
