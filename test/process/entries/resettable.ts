import { TaskObject as Released } from "../../../src/index.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

let isReset = false;

/** Task object that the first read resets, as a deployment does. */
export class TaskObject extends Released {
  override read(...caller: Parameters<Released["read"]>): ReturnType<Released["read"]> {
    if (!isReset) {
      isReset = true;
      this.ctx.abort("reset by the first read");
    }
    return super.read(...caller);
  }
}
