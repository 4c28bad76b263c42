import { hashOf } from "../../core/hash.ts";
import pMap from "p-map";
import { errorText, log } from "../../log.ts";
import { type TaskBindings, taskObject } from "./task-stub.ts";

/**
 * One in this number of tasks, chosen by a hash of the id, belongs to the sample. The objects of these tasks
 * are always asked to erase the task if its retention is over; the objects of the other tasks are asked only
 * once an object was found that still held an expired task.
 */
const SAMPLE_SIZE = 100;
/**
 * Largest number of task objects that one run of the cron trigger asks to erase expired tasks, because the
 * platform limits the calls of one invocation.
 */
const MAX_ASKED = 5_000;
const CONCURRENCY = 50;

/**
 * Checks that task objects have erased their tasks after the retention. An object whose alarm was lost keeps
 * its task, and nothing else shows this, because the index no longer has the task's row. A sample of the
 * objects is asked to erase expired tasks; once one of them still held such a task, all other objects of the
 * run are asked as well.
 */
export class ExpiryCheck {
  readonly #env: TaskBindings;
  readonly #maxAsked: number;
  #asked = 0;
  #lost = 0;

  /** Creates the check of one run of the cron trigger, which asks at most `maxAsked` task objects. */
  constructor(env: TaskBindings, maxAsked = MAX_ASKED) {
    this.#env = env;
    this.#maxAsked = maxAsked;
  }

  /**
   * Number of task objects that were asked (`asked`), and of those that still held an expired task and erased
   * it (`lost`).
   */
  get counts() {
    return { asked: this.#asked, lost: this.#lost };
  }

  /**
   * Has the objects of these tasks erase them if their retention is over: the objects of the sample first,
   * and all others if any object has still held an expired task.
   * @returns the ids of the tasks whose objects should have been asked, but were not reached.
   */
  async check(ids: readonly string[]): Promise<readonly string[]> {
    const unreached = await this.#ask(ids.filter(isSampled));
    if (this.#lost === 0) return unreached;
    return [...unreached, ...(await this.#ask(ids.filter((id) => !isSampled(id))))];
  }

  /**
   * Asks the objects of these tasks to erase them if their retention is over, at most `maxAsked` objects in
   * one run.
   * @returns the ids of the tasks whose objects were not reached or not asked.
   */
  async #ask(ids: readonly string[]): Promise<readonly string[]> {
    const most = this.#maxAsked - this.#asked;
    const asked = ids.slice(0, most);
    this.#asked += asked.length;
    const areReached = await pMap(asked, (id) => this.#askOne(id), { concurrency: CONCURRENCY });
    return [...asked.filter((_, index) => areReached[index] !== true), ...ids.slice(most)];
  }

  async #askOne(id: string): Promise<boolean> {
    try {
      if ((await taskObject(this.#env, id).expireIfDue()) === "expired") {
        this.#lost += 1;
        log({ event: "index.expiry_lost", task_id: id }, "warn");
      }
      return true;
    } catch (error) {
      log({ event: "task.unreachable", task_id: id, error: errorText(error) }, "warn");
      return false;
    }
  }
}

/**
 * Tells whether a task belongs to the sample of 1 % that is always checked for a missed erasure, by a hash of
 * its id.
 */
export function isSampled(id: string): boolean {
  return hashOf(id) % SAMPLE_SIZE === 0;
}
