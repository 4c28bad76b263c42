import { TaskObject as Released } from "../../../src/index.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

/** Task object that logs when a reader begins and ends to watch it, and each read. */
export class TaskObject extends Released {
  override async fetch(): Promise<Response> {
    console.log(`watched ${this.ctx.id.name}`);
    return super.fetch();
  }

  override read(...caller: Parameters<Released["read"]>): ReturnType<Released["read"]> {
    console.log(`read ${this.ctx.id.name}`);
    return super.read(...caller);
  }

  override webSocketClose(): void {
    console.log(`unwatched ${this.ctx.id.name}`);
  }
}
