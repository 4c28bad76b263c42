import type { TaskRecord } from "../../src/core/record/task.ts";
import type { SimulatedObject } from "./simulated-object.ts";
import type { Setting } from "./setting.ts";

export interface Alarm {
  /** When it is due; Unix milliseconds. */
  readonly at: number;
  /** Time and configuration when it was set. */
  readonly armedAt: number;
  readonly under: Setting;
  readonly by: SimulatedObject;
  /** Its instance died while its handler ran, so it fires again. */
  readonly isRepeat: boolean;
}

export interface Stored {
  readonly record: TaskRecord | null;
  readonly alarm: Alarm | null;
}

const EMPTY: Stored = { record: null, alarm: null };

/**
 * The storage of one object: what was written in one turn becomes durable together, before anything
 * that follows from it leaves the object, or is lost with the instance.
 */
export class Disk {
  durable: Stored = EMPTY;
  #written: Stored = EMPTY;

  /** State as the living instance reads it. */
  get written(): Stored {
    return this.#written;
  }

  write(change: Partial<Stored>): void {
    this.#written = { ...this.#written, ...change };
  }

  /** Returns whether a crash would lose something. */
  get isDirty(): boolean {
    return this.#written !== this.durable;
  }

  flush(): void {
    this.durable = this.#written;
  }

  /**
   * Loses what is not durable, because the instance has died.
   * @param rung the alarm that was running comes again, unless another was set meanwhile.
   */
  lose(rung: Alarm | null): void {
    if (rung !== null && this.durable.alarm === null) {
      this.durable = { ...this.durable, alarm: { ...rung, isRepeat: true } };
    }
    this.#written = this.durable;
  }
}
