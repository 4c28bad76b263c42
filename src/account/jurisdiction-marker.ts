const JURISDICTION_KEY = "jurisdiction";

/**
 * Store of the jurisdiction under which this deployment creates its Durable Objects, under the key
 * `jurisdiction`. The first request writes it and nothing changes it, because the relay would not find the
 * existing tasks in another jurisdiction.
 */
export class JurisdictionMarker {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Stores the jurisdiction unless one is stored already. @returns the stored jurisdiction. */
  claim(jurisdiction: string): string {
    const noted = this.#kv.get<string>(JURISDICTION_KEY);
    if (noted === undefined) this.#kv.put(JURISDICTION_KEY, jurisdiction);
    return noted ?? jurisdiction;
  }
}
