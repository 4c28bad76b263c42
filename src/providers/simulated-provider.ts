import type { PollLimits } from "../core/policy.ts";
import type { Job } from "../core/record/upstream.ts";
import type { Result } from "../core/result.ts";
import type { Observation } from "./observation.ts";

/** A simulated provider. The relay calls no service for it, and its jobs proceed with time. */
export interface SimulatedProvider {
  readonly name: string;
  readonly hooks: null;
  readonly polls: null;
  readonly simulation: Simulation;
}

export interface Simulation {
  readonly limits: PollLimits;
  /** Starts the job of a new task. For an unknown model the error says which models there are. */
  readonly start: (model: string) => Result<StartedJob, string>;
  /**
   * Reports the state that a simulated job has reached.
   * @param ageMs time since the task was created, in milliseconds.
   */
  readonly observe: (job: Job, ageMs: number) => Observation;
}

export interface StartedJob {
  readonly job: Job;
  /** Time until the task fails, in milliseconds; null means the relay's default deadline. */
  readonly deadlineMs: number | null;
}
