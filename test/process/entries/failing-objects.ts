import { TaskObject as Task } from "../../../src/index.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

/** Task object whose methods fail, like code with a defect. */
export class TaskObject extends Task {
  override read(): never {
    throw new TypeError("planted defect");
  }

  override async apply(): Promise<never> {
    throw new TypeError("planted defect");
  }
}
