import {
  CallObject as Call,
  QueueObject as Queue,
  TaskObject as Task,
} from "../../../src/index.ts";
import { env } from "../../../src/startup.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

/** What this relay does wrong, for a control of the chaos of queues. */
const BUG: unknown = Reflect.get(env, "BUG");

/** One in so many releases is lost. */
const LOST_RELEASE = 3;

/** Queue that confirms a release without storing it, or that has forgotten after a restart who has a place. */
export class QueueObject extends Queue {
  #releases = 0;

  constructor(...given: ConstructorParameters<typeof Queue>) {
    super(...given);
    if (BUG !== "places_forgotten") return;
    const { sql } = this.ctx.storage;
    const tables = sql.exec("SELECT name FROM sqlite_master WHERE name = 'places'").toArray();
    if (tables.length > 0) sql.exec("DELETE FROM places WHERE state <> 'waiting'");
  }

  override leave(...given: Parameters<Queue["leave"]>): true {
    this.#releases++;
    const isLost = BUG === "release_lost" && this.#releases % LOST_RELEASE === 0;
    return isLost ? true : super.leave(...given);
  }
}

/** Task that says for ever that it needs its place, so that a lost release is not found. */
export class TaskObject extends Task {
  override holdsPlace(...given: Parameters<Task["holdsPlace"]>): boolean {
    return BUG === "release_lost" || super.holdsPlace(...given);
  }
}

/** Call that is sent again after a crash, although nobody knows whether it was sent before. */
export class CallObject extends Call {
  override async alarm(): Promise<void> {
    const { kv } = this.ctx.storage;
    const state = kv.get<{ readonly kind: string }>("call");
    if (BUG === "call_repeated" && state?.kind === "sending") {
      kv.put("call", { ...state, kind: "queued", ask: { retryAt: Date.now(), tries: 0 } });
    }
    return super.alarm();
  }
}
