import type { TaskRecord } from "../../src/core/record/task.ts";
import type { SimulatedObject } from "./simulated-object.ts";
import type { Setting } from "./setting.ts";

export interface Alarm {
  /** Time at which the alarm is due, in Unix milliseconds. */
  readonly at: number;
  /** Time at which the alarm was set, and the configuration at that time. */
  readonly armedAt: number;
  readonly under: Setting;
  readonly by: SimulatedObject;
  /** Version of the last row that the instance knew to be in the index when it set the alarm. */
  readonly rowVersion: number;
  /** States that the instance died while the alarm's handler ran, so that the alarm fires again. */
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

  /** State that the living instance reads, including what is not durable yet. */
  get written(): Stored {
    return this.#written;
  }

  write(change: Partial<Stored>): void {
    this.#written = { ...this.#written, ...change };
  }

  /** Tells whether a crash would lose something. */
  get isDirty(): boolean {
    return this.#written !== this.durable;
  }

  flush(): void {
    this.durable = this.#written;
  }

  /**
   * Drops what is not durable, because the instance has died.
   * @param rung alarm that was running; it fires again, unless another was set meanwhile.
   */
  lose(rung: Alarm | null): void {
    if (rung !== null && this.durable.alarm === null) {
      this.durable = { ...this.durable, alarm: { ...rung, isRepeat: true } };
    }
    this.#written = this.durable;
  }
}
