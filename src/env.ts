import type { ObjectBindings } from "./task/object-platform.ts";
import type { TaskBindings } from "./task/task-stub.ts";

/** Bindings of `wrangler.toml`. Variables and secrets are parsed from the same object by `config/config.ts`. */
export interface Env extends ObjectBindings, TaskBindings {
  readonly VERSION?: WorkerVersionMetadata;
}
