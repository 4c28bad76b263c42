const PREFIX = "session:";
/**
 * Largest number of entries of expired sessions that one logout erases. Each logout erases some, so that the
 * storage does not grow.
 */
const MAX_ERASED = 100;

/**
 * Sessions of the console that have ended before their time, because somebody has logged out: a copy of the
 * cookie is then worth nothing. A session is forgotten when it would have ended anyway, which `until` states,
 * in Unix milliseconds.
 */
export class EndedSessions {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  end(id: string, until: number, now: number): void {
    // The keys begin with the time, so that those of the past come first.
    const past = { prefix: PREFIX, end: keyOf("", now), limit: MAX_ERASED };
    for (const [key] of Array.from(this.#kv.list(past))) this.#kv.delete(key);
    if (until > now) this.#kv.put(keyOf(id, until), true);
  }

  isEnded(id: string, until: number): boolean {
    return this.#kv.get(keyOf(id, until)) !== undefined;
  }
}

function keyOf(id: string, until: number): string {
  return `${PREFIX}${until}:${id}`;
}
