import { TaskObject as FloorObject } from "../throughput/floor-worker.ts";

export { AccountObject, default } from "../throughput/floor-worker.ts";

/** The object of the bare Worker without a pending alarm: each that is set is deleted at once. */
export class TaskObject extends FloorObject {
  override accept(event: Parameters<FloorObject["accept"]>[0]): string {
    const id = super.accept(event);
    void this.ctx.storage.deleteAlarm();
    return id;
  }
}
