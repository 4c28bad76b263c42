import type { ObjectBindings } from "../../../src/task-object/object-platform.ts";
import { TaskObject as Released } from "../../../src/task-object/task-object.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

/**
 * Task object that logs its construction. With the variable `PINNED` it leaves a timer running, which the
 * relay must not do.
 */
export class TaskObject extends Released {
  constructor(ctx: DurableObjectState, env: ObjectBindings) {
    super(ctx, env);
    console.log(`constructed ${ctx.id.name ?? ""}`);
    if ("PINNED" in env) setTimeout(() => {}, 600_000);
  }
}
