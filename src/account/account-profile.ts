/** Facts of an account other than its ledger and its keys. */
export interface Profile {
  /** Generation of the callback secret; the first is 1. */
  readonly generation: number;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

const PROFILE_KEY = "account";

/** Profile of an account, under the key `account`; the account exists once its profile does. */
export class AccountProfile {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Returns null when the account does not exist. */
  read(): Profile | null {
    return this.#kv.get<Profile>(PROFILE_KEY) ?? null;
  }

  create(now: number): Profile {
    return this.#write({ generation: 1, createdAt: now });
  }

  /**
   * Raises the generation of the callback secret.
   * @param seen the generation that the caller knows: any other is left alone, so that a repeated request
   * rotates once. Null rotates in any case.
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
