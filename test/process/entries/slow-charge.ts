import { TaskObject as Released } from "../../../src/index.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

/** Task object that answers two seconds after the price of a new task was charged. */
export class TaskObject extends Released {
  override async apply(...given: Parameters<Released["apply"]>) {
    const applied = await super.apply(...given);
    await scheduler.wait(2_000);
    return applied;
  }
}
