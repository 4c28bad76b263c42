import { DurableObject } from "cloudflare:workers";

/** Storage key under which the object of a job stores the id of the job's task. */
const TASK = "task";

/**
 * Durable Object of a job that was submitted through the relay, named after its connection and its id at the provider
 * (binding `JOBS`). It states to which task the job belongs, so that a client that knows only the id of the job finds
 * the task.
 *
 * Stores the id of the task (`task`). It is called by requests about the job, and twice by the task's object: before
 * the task's object stores that the submission is accepted, and when it erases the task; the second call erases this
 * object too.
 */
export class JobObject extends DurableObject {
  /**
   * Stores to which task the job belongs, unless it belongs to another task already. At some upstreams the caller
   * chooses the id of a job; whoever chooses the id of another task's job must not get that job.
   * @returns always true. A caller that gets it knows that the job belongs to a task.
   */
  setTask(taskId: string): true {
    if (this.task() === null) this.ctx.storage.kv.put(TASK, taskId);
    return true;
  }

  /** Returns the id of the task to which the job belongs. Null for a job that was not submitted through the relay. */
  task(): string | null {
    return this.ctx.storage.kv.get<string>(TASK) ?? null;
  }

  /**
   * Erases this object of a job if the job belongs to the task with this id.
   * @returns always true.
   */
  async forget(taskId: string): Promise<true> {
    if (this.task() === taskId) await this.ctx.storage.deleteAll();
    return true;
  }
}
