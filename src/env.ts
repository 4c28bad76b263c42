import type { Accounts } from "./objects/account-objects.ts";
import type { ObjectBindings } from "./objects/object-platform.ts";
import type { TaskObject } from "./objects/task-object.ts";

/** What `wrangler.toml` binds; variables and secrets are parsed from it by `config.ts`. */
export interface Env extends ObjectBindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
  readonly ACCOUNTS: Accounts;
}
