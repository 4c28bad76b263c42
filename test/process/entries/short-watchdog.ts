import { env } from "../../../src/startup.ts";
import { TaskObject as Released } from "../../../src/objects/task/task-object.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

/** Task object whose watchdog alarm fires 1.8 s before an attempt may end. */
export class TaskObject extends Released {
  constructor(ctx: DurableObjectState) {
    super(ctx, env, { watchdogMarginMs: -1800 });
  }
}
