import { TaskObject as FloorObject } from "../throughput/floor-worker.ts";

export * from "../throughput/floor-worker.ts";
export { default } from "../throughput/floor-worker.ts";

/**
 * Object of the bare Worker, changed so that no alarm is pending: each alarm is deleted as soon as it is set.
 */
export class TaskObject extends FloorObject {
  override accept(event: Parameters<FloorObject["accept"]>[0]): string {
    const id = super.accept(event);
    void this.ctx.storage.deleteAlarm();
    return id;
  }
}
