import type { Accounts } from "./account/object-names.ts";
import type { ObjectBindings } from "./task/object-platform.ts";
import type { TaskObject } from "./task/task-object.ts";

/** What `wrangler.toml` binds; variables and secrets are parsed from it by `config.ts`. */
export interface Env extends ObjectBindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
  readonly ACCOUNTS: Accounts;
}
