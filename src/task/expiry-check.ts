import pMap from "p-map";
import { errorText, log } from "../log.ts";
import { type TaskBindings, taskObject } from "./task-stub.ts";

/**
 * Number of tasks of which one belongs to the sample, the only tasks that are asked as long as no lost
 * expiry is known.
 */
const SAMPLE_SIZE = 100;
/**
 * Largest number of task objects called in one run of the cron trigger, because the platform limits the
 * calls of an invocation.
 */
const MAX_ASKED = 5_000;
const CONCURRENCY = 50;

/**
 * Checks that tasks are erased after their retention. An object whose alarm was lost keeps its task, and
 * nobody knows of it, because its row has left the index. A sample of the objects is asked to erase
 * themselves; once one of them had to, all others of the run are asked as well.
 */
export class ExpiryCheck {
  readonly #env: TaskBindings;
  #asked = 0;
  #lost = 0;

  constructor(env: TaskBindings) {
    this.#env = env;
  }

  /**
   * Number of the objects that were asked to erase themselves, and of those that still held an expired
   * task.
   */
  get counts() {
    return { asked: this.#asked, lost: this.#lost };
  }

  /**
   * Has the objects of these tasks erase themselves if their retention is over: those of the sample, and
   * all of them once a lost expiry is known.
   * @returns the ids of the tasks that should have been asked, but were not reached.
   */
  async check(ids: readonly string[]): Promise<readonly string[]> {
    const unreached = await this.#ask(ids.filter(isSampled));
    if (this.#lost === 0) return unreached;
    return [...unreached, ...(await this.#ask(ids.filter((id) => !isSampled(id))))];
  }

  /**
   * Asks the objects of these tasks, as far as `MAX_ASKED` allows, to erase themselves if their retention
   * is over.
   * @returns the ids of the tasks that were not reached.
   */
  async #ask(ids: readonly string[]): Promise<readonly string[]> {
    const most = MAX_ASKED - this.#asked;
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

/** Tells whether a task belongs to the sample, by a hash of its id (FNV-1a). */
export function isSampled(id: string): boolean {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash % SAMPLE_SIZE === 0;
}
