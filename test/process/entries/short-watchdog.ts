import type { Accounts } from "../../../src/account/object-names.ts";
import { TaskObject as Released } from "../../../src/task-object/task-object.ts";

export { default } from "../../../src/index.ts";
export { AccountObject } from "../../../src/account/account-object.ts";

/** Task object whose watchdog alarm fires 1.8 s before an attempt may end. */
export class TaskObject extends Released {
  constructor(ctx: DurableObjectState, env: { readonly ACCOUNTS: Accounts }) {
    super(ctx, env, { watchdogMarginMs: -1800 });
  }
}
