import type { ObjectBindings } from "./task-object/object-platform.ts";
import type { TaskBindings } from "./task-object/task-stub.ts";

/**
 * Bindings that `wrangler.toml` declares (objects, databases, queue). Variables and secrets are in the same
 * environment and are parsed by `config/config.ts`.
 */
export interface Env extends ObjectBindings, TaskBindings {
  readonly VERSION?: WorkerVersionMetadata;
}
