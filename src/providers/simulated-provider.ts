import type { PollLimits } from "../core/policy.ts";
import type { Job } from "../core/record/upstream.ts";
import type { Result } from "../core/result.ts";
import type { Observation } from "./observation.ts";

/**
 * A simulated provider. The relay calls no service for it; the state of a job depends on the job's model and age.
 */
export interface SimulatedProvider {
  readonly name: string;
  readonly hooks: null;
  readonly polls: null;
  readonly simulation: Simulation;
}

export interface Simulation {
  readonly limits: PollLimits;
  /** Returns the simulated job of a new task. For an unknown model it returns an error text that lists the models. */
  readonly start: (model: string) => Result<StartedJob, string>;
  /** Path of the call that starts a job, after the name of the connection in the URL. No other path starts a job. */
  readonly submitPath: string;
  /**
   * Returns the job that a submission starts, with the answer to the submission. For an unknown model it returns an
   * error text that lists the models.
   * @param model member `model` of the body; null when the body has no such string.
   */
  readonly submit: (model: string | null) => Result<SubmittedJob, string>;
  /**
   * Returns the state that a simulated job has reached.
   * @param ageMs time since the task was created, in milliseconds.
   */
  readonly observe: (job: Job, ageMs: number) => Observation;
}

export interface StartedJob {
  readonly job: Job;
  /** Time until the task fails, in milliseconds. Null means the relay's default deadline. */
  readonly deadlineMs: number | null;
}

export interface SubmittedJob extends StartedJob {
  /** JSON text with which the relay answers the submission; the HTTP status of this answer is 200. */
  readonly answer: string;
}
