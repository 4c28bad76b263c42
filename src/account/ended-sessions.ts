/**
 * Sessions of the console that have ended before their time, because somebody has logged out: a copy of the
 * cookie is then worth nothing. A session is forgotten when it would have ended anyway.
 */
export class EndedSessions {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Ends a session. @param until time at which it would end anyway, in Unix milliseconds. */
  end(id: string, until: number, now: number): void {
    const known = Array.from(this.#kv.list<number>({ prefix: PREFIX }));
    for (const [key, endsAt] of known) if (endsAt <= now) this.#kv.delete(key);
    if (until > now) this.#kv.put<number>(PREFIX + id, until);
  }

  isEnded(id: string): boolean {
    return this.#kv.get<number>(PREFIX + id) !== undefined;
  }
}

const PREFIX = "session:";
