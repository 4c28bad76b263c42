/** What the operator sets for an account with `PUT /v1/accounts/{account}`. */
export interface AccountSettings {
  /** Names of price lists: offers may be for all accounts with a tag. */
  readonly tags: readonly string[];
  /** Balance in credits below which the operator is told of it. Null when the operator is never told. */
  readonly lowBalance: number | null;
  /** Credits that the charges of a month (UTC) may cost. Null when there is no limit. */
  readonly monthlyLimit: number | null;
}

const NO_SETTINGS: AccountSettings = { tags: [], lowBalance: null, monthlyLimit: null };

export interface StoredSettings extends AccountSettings {
  /** Number of the change that has set them, counted from 1. */
  readonly revision: number;
}

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
  /** Absent when nothing was ever set: `NO_SETTINGS`. */
  readonly settings?: StoredSettings;
}

/** Returns the settings of an account, from its profile. */
export function settingsOf({ settings }: Pick<Profile, "settings">): AccountSettings {
  return settings ?? NO_SETTINGS;
}

const PROFILE_KEY = "profile";

/**
 * Profile of an account. It is stored under the key `profile` in two Durable Objects. The valid one is in the object
 * `account-keys:<account>`; it is read when a task or an API key of the account is added, and when the account's
 * secrets are read. The object that books the account's credits has a copy, in which the latest rotation of the
 * callback secret may be missing. The settings are decided the other way round: those in the object that books the
 * credits are valid, and the other object has a copy.
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
   * Stores the settings of the account in place of the former ones.
   * @returns the profile; null when the account does not exist or was deleted.
   */
  replaceSettings(settings: AccountSettings): Profile | null {
    const profile = this.active();
    if (profile === null) return null;
    const revision = (profile.settings?.revision ?? 0) + 1;
    return this.#write({ ...profile, settings: { ...settings, revision } });
  }

  /**
   * Stores a copy of the settings that the ledger's object has stored. Nothing changes when this object has a copy of
   * later ones, and when the account does not exist or was deleted.
   */
  noteSettings(settings: StoredSettings): void {
    const profile = this.active();
    if (profile === null || (profile.settings?.revision ?? 0) > settings.revision) return;
    this.#write({ ...profile, settings });
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
