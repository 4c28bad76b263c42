import { DurableObject } from "cloudflare:workers";

/** Storage key of the id of the task. */
const TASK = "task";

/**
 * Durable Object of a job that was submitted through the relay, named after its connection and its id at the provider
 * (binding `JOBS`). It states which task the job belongs to, so that a client that knows only the id of the job finds the
 * task.
 *
 * Stores the id of the task (`task`). Called by the task's object before it stores that the submission is accepted, and
 * when it erases the task, which erases this object; and by requests about the job.
 */
export class JobObject extends DurableObject {
  /** Stores the task of the job. @returns always true; the caller can therefore tell that it is stored. */
  setTask(taskId: string): true {
    this.ctx.storage.kv.put(TASK, taskId);
    return true;
  }

  /** Returns the id of the task of the job. Null for a job that was not submitted through the relay. */
  task(): string | null {
    return this.ctx.storage.kv.get<string>(TASK) ?? null;
  }

  /** Erases the object when the job belongs to this task. @returns always true. */
  async forget(taskId: string): Promise<true> {
    if (this.task() === taskId) await this.ctx.storage.deleteAll();
    return true;
  }
}
