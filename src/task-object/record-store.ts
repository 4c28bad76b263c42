import { storedBytes } from "../core/record/stored-size.ts";
import type { TaskRecord } from "../core/record/task.ts";
import { parseRecord } from "./record-schema.ts";

const RECORD_KEY = "task";
/**
 * Largest record that stays in memory, in bytes as stored. Thousands of objects may share the 128 MB of an
 * isolate, each for as long as the platform keeps it in memory.
 */
const MAX_KEPT_BYTES = 16_384;

/**
 * The stored record of one task. A small record is also kept in memory, so that it is parsed once in the life
 * of the instance: only this class writes it, and records are never modified in place.
 */
export class RecordStore {
  readonly #storage: DurableObjectStorage;
  /** The record as stored, null when there is none; undefined when it must be read from the storage. */
  #kept: TaskRecord | null | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** @throws when this release cannot read the stored record. */
  load(): TaskRecord | null {
    if (this.#kept !== undefined) return this.#kept;
    const value = this.#storage.kv.get(RECORD_KEY);
    const record = value === undefined ? null : parseRecord(value);
    this.#keep(record);
    return record;
  }

  /**
   * Validates the record and writes it: a bug then fails the event that caused it, instead of storing a
   * record that nobody can read.
   */
  store(record: TaskRecord): void {
    parseRecord(record);
    this.#kept = undefined;
    this.#storage.kv.put(RECORD_KEY, record);
    this.#keep(record);
  }

  /** Deletes the record and everything else that the object stores, its alarm included. */
  erase(): Promise<void> {
    this.#kept = undefined;
    return this.#storage.deleteAll();
  }

  #keep(record: TaskRecord | null): void {
    const isSmall = record === null || storedBytes(record) <= MAX_KEPT_BYTES;
    this.#kept = isSmall ? record : undefined;
  }
}
