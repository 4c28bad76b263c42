import { DurableObject } from "cloudflare:workers";

/** Storage key under which the object of a job stores the id of the job's task. */
const TASK = "task";

/**
 * Durable Object of a job that was submitted through the relay, named after its connection and its id at the provider
 * (binding `JOBS`). It states to which task the job belongs, so that a client that knows only the id of the job finds
 * the task.
 *
 * Stores the id of the task (`task`). It is called by the task's object before that stores that the submission is
 * accepted, and when that erases the task, which erases this object too; and by requests about the job.
 */
export class JobObject extends DurableObject {
  /**
   * Stores to which task the job belongs, unless it belongs to another one already: at some upstreams the caller names the
   * job, and must not take over that of somebody else.
   * @returns always true, so that the caller can tell that the job belongs to a task.
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
