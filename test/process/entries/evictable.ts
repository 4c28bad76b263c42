import type { Accounts } from "../../../src/account/object-names.ts";
import { TaskObject as Released } from "../../../src/task-object/task-object.ts";

export { default } from "../../../src/index.ts";
export { AccountObject } from "../../../src/account/account-object.ts";

/** Logs its construction. With the variable `PINNED` it leaves a timer running, as the relay must not. */
export class TaskObject extends Released {
  constructor(ctx: DurableObjectState, env: { readonly ACCOUNTS: Accounts }) {
    super(ctx, env);
    console.log(`constructed ${ctx.id.name ?? ""}`);
    if ("PINNED" in env) setTimeout(() => {}, 600_000);
  }
}
