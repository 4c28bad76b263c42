import type { JsonObject } from "../core/json.ts";
import type { PollLimits } from "../core/policy.ts";
import type { Job } from "../core/record/upstream.ts";
import type { Result } from "../core/result.ts";
import type { Observation } from "./observation.ts";
import type { SubmitAdapter } from "./submit.ts";

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
  /** Paths of the calls that the provider takes, after the name of the connection in the URL. */
  readonly submitPaths: readonly string[];
  readonly submits: SubmitAdapter;
  /**
   * Returns what a new task of a model begins with. For an unknown model it returns an error text that lists the models.
   * @param path path of the call with which the task begins; null when it is registered without one.
   */
  readonly start: (model: string, path: string | null) => Result<SimulatedStart, string>;
  /**
   * Returns the answer to a call that `start` has permitted.
   * @param now time of the call, in Unix milliseconds.
   */
  readonly answer: (model: string, path: string, now: number) => SimulatedAnswer;
  /**
   * Returns the state that a simulated job has reached.
   * @param ageMs time since the task was created, in milliseconds.
   */
  readonly observe: (job: Job, ageMs: number) => Observation;
}

export interface SimulatedStart {
  /** The job of the task. Null when the answer to the call is itself the result. */
  readonly job: Job | null;
  /** Time until the task fails, in milliseconds. Null means the relay's default deadline. */
  readonly deadlineMs: number | null;
}

/** Answer of a simulated provider to a call. Its HTTP status is 200. */
export interface SimulatedAnswer {
  readonly body: JsonObject;
  /** Time between the call and the answer, in milliseconds. */
  readonly afterMs: number;
}
