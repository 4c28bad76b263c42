import { hashOf } from "../../core/hash.ts";
import { log } from "../../lib/log.ts";
import { callTasks } from "./call-tasks.ts";
import { type TaskBindings, taskObject } from "./task-stub.ts";

/**
 * Number of tasks of which one is in the sample: one in 100, chosen by a hash of the task's id. The objects of the
 * tasks in the sample are always asked to erase tasks whose retention is over. The objects of all other tasks are asked
 * only after one of the objects was found that still stored such a task.
 */
const SAMPLE_SIZE = 100;
/**
 * Largest number of task objects that one run of the cron trigger asks to erase expired tasks. It is limited
 * because the platform limits the calls of one invocation.
 */
const MAX_ASKED = 5_000;

/**
 * Checks that task objects have erased their tasks after the retention. An object whose alarm was lost still stores its
 * task, and nothing else shows this, because the index no longer has the task's row. The objects of a sample of the
 * tasks are asked to erase expired tasks. As soon as one of them turns out to store such a task still, the objects of
 * the other tasks are asked too, in the same call of `check` and in all later calls of the run.
 */
export class ExpiryCheck {
  readonly #env: TaskBindings;
  readonly #maxAsked: number;
  #asked = 0;
  #lost = 0;

  /** Creates the check for one run of the cron trigger. It asks at most `maxAsked` task objects. */
  constructor(env: TaskBindings, maxAsked = MAX_ASKED) {
    this.#env = env;
    this.#maxAsked = maxAsked;
  }

  /**
   * Numbers of task objects in this run: `asked` is the number of those that were asked, `lost` the number of those
   * among them that still stored an expired task, which they then erased.
   */
  get counts() {
    return { asked: this.#asked, lost: this.#lost };
  }

  /**
   * Asks the objects of these tasks to erase their tasks if the retention is over. The objects of the sample are asked
   * first. All others are asked only if an object was found that still stored an expired task.
   * @returns the ids of the tasks whose objects should have been asked but were not reached.
   */
  async check(ids: readonly string[]): Promise<readonly string[]> {
    const unreached = await this.#ask(ids.filter(isSampled));
    if (this.#lost === 0) return unreached;
    return [...unreached, ...(await this.#ask(ids.filter((id) => !isSampled(id))))];
  }

  /**
   * Asks the objects of these tasks to erase their tasks if the retention is over, at most `maxAsked` objects in
   * one run.
   * @returns the ids of the tasks whose objects were not reached or not asked.
   */
  async #ask(ids: readonly string[]): Promise<readonly string[]> {
    const most = this.#maxAsked - this.#asked;
    const asked = ids.slice(0, most);
    this.#asked += asked.length;
    const areReached = await callTasks(
      asked.map((id) => ({ id })),
      (task) => this.#askOne(task.id),
    );
    return [...asked.filter((_, index) => areReached[index] !== true), ...ids.slice(most)];
  }

  async #askOne(id: string): Promise<true> {
    if ((await taskObject(this.#env, id).expireIfDue()) === "expired") {
      this.#lost += 1;
      log({ event: "index.expiry_lost", task_id: id }, "warn");
    }
    return true;
  }
}

/**
 * Tells whether a task belongs to the sample of 1 % whose objects are always asked to erase expired tasks. A hash
 * of the id decides.
 */
export function isSampled(id: string): boolean {
  return hashOf(id) % SAMPLE_SIZE === 0;
}
