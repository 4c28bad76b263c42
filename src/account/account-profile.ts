/** Facts of an account other than its ledger and its keys. All times are Unix milliseconds. */
export interface Profile {
  /** Generation of the callback secret, which counts its rotations; the first is 1. */
  readonly generation: number;
  readonly createdAt: number;
  /** Time at which the account was deleted, in Unix milliseconds; null while it is in use. */
  readonly deletedAt: number | null;
}

/** A profile as it is stored; those of earlier builds have no `deletedAt`. */
type StoredProfile = Omit<Profile, "deletedAt"> & Partial<Profile>;

const PROFILE_KEY = "account";

/**
 * Profile of an account, under the key `account`. Two objects store it: the one named `account-keys:`,
 * which tasks and keys ask, and the one that books the money, whose generation may be a rotation behind.
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

  /** Reads the profile of an account in use; null when the account does not exist or was deleted. */
  active(): Profile | null {
    const profile = this.read();
    return profile?.deletedAt === null ? profile : null;
  }

  /** Stores the profile unless there is one. @returns the stored profile. */
  create(profile: Profile): Profile {
    return this.read() ?? this.#write(profile);
  }

  /**
   * Raises the generation of the callback secret.
   * @param seen the generation that the caller knows. When another one is stored, nothing changes, so that
   * a repeated request rotates once. Null rotates in any case.
   * @returns the stored profile, changed or not; null when the account is not in use.
   */
  rotate(seen: number | null): Profile | null {
    const profile = this.active();
    if (profile === null || (seen !== null && seen !== profile.generation)) return profile;
    return this.#write({ ...profile, generation: profile.generation + 1 });
  }

  /**
   * Stores the generation of the callback secret that another object has raised; an older one is ignored.
   */
  noteGeneration(generation: number): void {
    const profile = this.read();
    if (profile !== null && profile.generation < generation) {
      this.#write({ ...profile, generation });
    }
  }

  /** Marks the account as deleted, once. @returns its profile; null when it does not exist. */
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
