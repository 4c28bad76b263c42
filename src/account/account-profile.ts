/** Profile of an account: its facts other than its ledger and its keys. */
export interface Profile {
  /** Generation of the callback secret, which counts its rotations; the first is 1. */
  readonly generation: number;
  /** Time at which the account was created, in Unix milliseconds. */
  readonly createdAt: number;
}

const PROFILE_KEY = "account";

/** Store of the profile, under the key `account`; the account exists once its profile does. */
export class AccountProfile {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Reads the profile of the account; null when the account does not exist. */
  read(): Profile | null {
    return this.#kv.get<Profile>(PROFILE_KEY) ?? null;
  }

  create(now: number): Profile {
    return this.#write({ generation: 1, createdAt: now });
  }

  /**
   * Raises the generation of the callback secret.
   * @param seen the generation that the caller knows. When another one is stored, nothing changes, so that
   * a repeated request rotates once. Null rotates in any case.
   * @returns null when the account does not exist.
   */
  rotate(seen: number | null): Profile | null {
    const profile = this.read();
    if (profile === null || (seen !== null && seen !== profile.generation)) return profile;
    return this.#write({ ...profile, generation: profile.generation + 1 });
  }

  #write(profile: Profile): Profile {
    this.#kv.put(PROFILE_KEY, profile);
    return profile;
  }
}
