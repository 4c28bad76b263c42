import { TaskObject as Released } from "../../../src/index.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

/**
 * Task object that logs its construction. With the variable `PINNED` it leaves a timer running, which the
 * relay must not do.
 */
export class TaskObject extends Released {
  constructor(ctx: DurableObjectState) {
    super(ctx);
    console.log(`constructed ${ctx.id.name ?? ""}`);
    if ("PINNED" in this.env) setTimeout(() => {}, 600_000);
  }
}
