/** Data of an account other than its ledger and its API keys. All times are Unix milliseconds. */
export interface Profile {
  /** Generation of the callback secret, which counts its rotations; the first is 1. */
  readonly generation: number;
  readonly createdAt: number;
  /** Time at which the account was deleted, in Unix milliseconds; null when it was not. */
  readonly deletedAt: number | null;
}

/** A profile as it is stored; one stored by an earlier release may have no `deletedAt`. */
type StoredProfile = Omit<Profile, "deletedAt"> & Partial<Profile>;

const PROFILE_KEY = "account";

/**
 * Profile of an account, stored under the key `account` in two Durable Objects: in `account-keys:<account>`,
 * where it is looked up for tasks and API keys, and in the object that books the account's credits, whose
 * copy may lack the latest rotation of the callback secret.
 */
export class AccountProfile {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Reads the profile of the account; null when the account does not exist. */
  read(): Profile | null {
    const stored = this.#kv.get<StoredProfile>(PROFILE_KEY);
    return stored === undefined ? null : { deletedAt: null, ...stored };
  }

  /** Tells whether the account exists, deleted or not. */
  exists(): boolean {
    return this.read() !== null;
  }

  /** Reads the profile of an account; null when the account does not exist or was deleted. */
  active(): Profile | null {
    const profile = this.read();
    return profile?.deletedAt === null ? profile : null;
  }

  /** Stores the profile unless the account has one already. @returns the stored profile. */
  create(profile: Profile): Profile {
    return this.read() ?? this.#write(profile);
  }

  /**
   * Rotates the callback secret of the account by raising its generation by one.
   * @param seen the generation that the caller knows. When another one is stored, nothing changes, so that a
   * repeated request rotates once. Null rotates in any case.
   * @returns the stored profile, changed or not; null when the account does not exist or was deleted.
   */
  rotate(seen: number | null): Profile | null {
    const profile = this.active();
    if (profile === null || (seen !== null && seen !== profile.generation)) return profile;
    return this.#write({ ...profile, generation: profile.generation + 1 });
  }

  /**
   * Stores a raised generation of the callback secret in the copy of the profile that the ledger's object
   * has; ignores a generation that is not higher than the stored one.
   */
  noteGeneration(generation: number): void {
    const profile = this.read();
    if (profile !== null && profile.generation < generation) {
      this.#write({ ...profile, generation });
    }
  }

  /**
   * Marks the account as deleted; a repeated call keeps the time of the first one.
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
