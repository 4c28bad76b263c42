import type { TaskRecord } from "../../core/record/task.ts";
import { parseRecord, requireReadable } from "../../core/record/record-schema.ts";

const RECORD_KEY = "task";
/**
 * The stored record of one task. The record stays in memory until the garbage collector needs the memory, so that it is
 * not parsed at every load. The record in memory always equals the stored one, because only this class writes the
 * record, and records are never modified in place.
 */
export class RecordStore {
  readonly #storage: DurableObjectStorage;
  /** The stored record, while it is in memory. Null when it must be read from the storage. */
  #kept: WeakRef<TaskRecord> | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /**
   * Returns the stored record. Null when there is none.
   * @throws when this release cannot read the record.
   */
  load(): TaskRecord | null {
    const kept = this.#kept?.deref();
    if (kept !== undefined) return kept;
    const value = this.#storage.kv.get(RECORD_KEY);
    if (value === undefined) return null;
    const record = parseRecord(value);
    this.#kept = new WeakRef(record);
    return record;
  }

  /**
   * Checks the record against its schema, and stores it.
   * @throws when the record does not match the schema, so that an event that would store an unreadable record fails.
   */
  store(record: TaskRecord): void {
    requireReadable(record);
    this.#kept = null;
    this.#storage.kv.put(RECORD_KEY, record);
    this.#kept = new WeakRef(record);
  }

  /** Deletes the record and everything else that the object stores, its alarm included. */
  erase(): Promise<void> {
    this.#kept = null;
    return this.#storage.deleteAll();
  }
}
