import { CallObject as Call, TaskObject as Task } from "../../../src/index.ts";
import { sendChangesThrough } from "../../../src/outbound/http.ts";
import { env } from "../../../src/startup.ts";

export * from "../../../src/index.ts";
export { default } from "../../../src/index.ts";

/** Step of a call whose client does not wait, at which this relay stops. */
type Step = "register" | "registered" | "begin" | "send" | "report" | "reported";

/** Stops for ten minutes if the variable `HELD_AT` names this step. */
async function stopAt(step: Step): Promise<void> {
  if (Reflect.get(env, "HELD_AT") === step) await scheduler.wait(600_000);
}

/** Stops before the request to the upstream leaves. */
async function hold(): Promise<never> {
  await stopAt("send");
  throw new Error("the relay was not killed in time");
}

if (Reflect.get(env, "HELD_AT") === "send") sendChangesThrough({ fetch: hold });

/** Task object that stops before or after it has stored the registration or the end of a call. */
export class TaskObject extends Task {
  override async apply(...given: Parameters<Task["apply"]>) {
    await stopAt("register");
    const applied = await super.apply(...given);
    await stopAt("registered");
    return applied;
  }

  override async endCall(...given: Parameters<Task["endCall"]>) {
    await stopAt("report");
    const areTaken = await super.endCall(...given);
    await stopAt("reported");
    return areTaken;
  }
}

/** Object of a call that stops before it learns that its call is to begin. */
export class CallObject extends Call {
  override async begin() {
    await stopAt("begin");
    return super.begin();
  }
}
