import type { TaskRecord } from "../../core/record/task.ts";
import { parseRecord } from "./record-schema.ts";

const RECORD_KEY = "task";
/**
 * The stored record of one task. The last record is kept in memory until the garbage collector needs the
 * memory, so that a record is parsed once and not at every load. This is safe because only this class writes
 * the record, and records are never modified in place.
 */
export class RecordStore {
  readonly #storage: DurableObjectStorage;
  /** The record as stored, while it is in memory; null means that it must be read from the storage. */
  #kept: WeakRef<TaskRecord> | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Returns the stored record; null when there is none. @throws when this release cannot read the record. */
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
   * Validates the record and writes it: a bug then fails the event that caused it, instead of storing a
   * record that nobody can read.
   */
  store(record: TaskRecord): void {
    parseRecord(record);
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
