import { readdirSync } from "node:fs";
import { mean } from "./figures.ts";
import { residentBytesOf } from "./memory.ts";

/** A sample: memory and open files of the relay's process at one moment. */
export interface Sample {
  /** Number of tasks accepted so far. */
  readonly tasks: number;
  readonly rssBytes: number;
  readonly openFiles: number;
}

const EVERY_MS = 1_000;

/** Samples one process once a second. */
export class MemoryLog implements Disposable {
  readonly samples: Sample[] = [];
  readonly #pid: number;
  readonly #tasks: () => number;
  readonly #timer: NodeJS.Timeout;

  /** Starts the sampling of a process. @param tasks returns the number of tasks accepted so far. */
  constructor(pid: number, tasks: () => number) {
    this.#pid = pid;
    this.#tasks = tasks;
    this.sample();
    this.#timer = setInterval(() => this.sample(), EVERY_MS);
  }

  /** Takes a sample of the process now. */
  sample(): Sample {
    const openFiles = readdirSync(`/proc/${this.#pid}/fd`).length;
    const sample = { tasks: this.#tasks(), rssBytes: residentBytesOf(this.#pid), openFiles };
    this.samples.push(sample);
    return sample;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** Returns the first sample taken after at least `tasks` tasks. */
export function sampleAt(samples: readonly Sample[], tasks: number): Sample | undefined {
  return samples.find((sample) => sample.tasks >= tasks);
}

/**
 * Fits a line to the samples by least squares.
 * @returns the bytes that one more task costs, from `fromTasks` tasks on.
 */
export function bytesPerTask(samples: readonly Sample[], fromTasks: number): number {
  const later = samples.filter(({ tasks }) => tasks >= fromTasks);
  const tasksMean = mean(later.map(({ tasks }) => tasks));
  const bytesMean = mean(later.map(({ rssBytes }) => rssBytes));
  let covariance = 0;
  let variance = 0;
  for (const { tasks, rssBytes } of later) {
    covariance += (tasks - tasksMean) * (rssBytes - bytesMean);
    variance += (tasks - tasksMean) ** 2;
  }
  return covariance / variance;
}
