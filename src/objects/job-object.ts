import { DurableObject } from "cloudflare:workers";

/**
 * Durable Object of a part of the jobs that were submitted through the relay with one connection (binding `JOBS`;
 * `jobObject` chooses the part). It states to which task each of these jobs belongs, so that a client that knows only the
 * id of its job finds the task.
 *
 * Stores the id of the task under the id of each job at the provider, which has at most 1,536 bytes (512 UTF-16 units):
 * the platform permits keys of 2,048. It is called by requests about a job, and twice by the task's object: before the
 * task's object stores that the submission is accepted, and when it erases the task; the second call deletes the entry.
 */
export class JobObject extends DurableObject {
  /**
   * Stores to which task a job belongs, unless it belongs to another task already. At some upstreams the caller
   * chooses the id of a job; whoever chooses the id of another task's job must not get that job.
   * @returns always true. A caller that gets it knows that the job belongs to a task.
   */
  setTask(jobId: string, taskId: string): true {
    if (this.task(jobId) === null) this.ctx.storage.kv.put(jobId, taskId);
    return true;
  }

  /** Returns the id of the task to which a job belongs. Null for a job that was not submitted through the relay. */
  task(jobId: string): string | null {
    return this.ctx.storage.kv.get<string>(jobId) ?? null;
  }

  /**
   * Deletes the entry of a job if the job belongs to the task with this id.
   * @returns always true.
   */
  forget(jobId: string, taskId: string): true {
    if (this.task(jobId) === taskId) this.ctx.storage.kv.delete(jobId);
    return true;
  }
}
