const JURISDICTION_KEY = "jurisdiction";

/**
 * The jurisdiction under which this deployment's objects are stored, under the key `jurisdiction`. Written
 * by the first request and never changed: under another jurisdiction the stored tasks could not be found.
 */
export class JurisdictionMarker {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Notes the jurisdiction unless one is noted. @returns the noted one. */
  claim(jurisdiction: string): string {
    const noted = this.#kv.get<string>(JURISDICTION_KEY);
    if (noted === undefined) this.#kv.put(JURISDICTION_KEY, jurisdiction);
    return noted ?? jurisdiction;
  }
}
