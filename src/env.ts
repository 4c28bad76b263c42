import type { Accounts } from "./account/object-names.ts";
import type { ObjectBindings } from "./task/object-platform.ts";
import type { TaskObject } from "./task/task-object.ts";

/** Bindings of `wrangler.toml`. Variables and secrets are parsed from the same object by `config/config.ts`. */
export interface Env extends ObjectBindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
  readonly ACCOUNTS: Accounts;
}
