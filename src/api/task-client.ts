import type { RedeliverEvent, RegisterEvent, ReportEvent } from "../core/event.ts";
import type { Role } from "../core/view.ts";
import type { Env } from "../env.ts";
import type { Applied, Refused, TaskReply } from "../objects/task-object.ts";
import { invalidRequest, Problem, unknownTask } from "./problem.ts";

const RETRY_AFTER_S = "2";

/** Asks the object of one task. @throws Problem `unavailable` when the object cannot be reached. */
export function taskClient(env: Env, id: string) {
  // A stub that has failed stays broken, so each question takes a new one.
  const stub = () => env.TASKS.getByName(id);
  return {
    read: (role: Role) => reached<TaskReply | null>(() => stub().read(role)),
    apply: (event: RegisterEvent | ReportEvent | RedeliverEvent, role: Role) =>
      reached<Applied>(() => stub().apply(event, role)),
    erase: (role: Role) => reached<Applied>(() => stub().erase(role)),
  };
}

/** The refusal of an event, as the wire says it. */
export function problemOf(refused: Refused): Problem {
  switch (refused.kind) {
    case "unknown_task":
      return unknownTask();
    case "invalid_field":
      return invalidRequest([{ path: refused.field, message: refused.message }]);
    case "conflict":
      return new Problem(refused.code, {
        detail: "The task as it is now is in the member task.",
        taskJson: refused.task.json,
      });
  }
}

async function reached<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isPlatformFailure(error)) throw error;
    throw new Problem("unavailable", {
      detail: "Nothing was changed that has not been answered; try again.",
      headers: { "Retry-After": RETRY_AFTER_S },
    });
  }
}

/** Overload, a reset of the object or a lost connection: the platform's, not ours. */
function isPlatformFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const flags = ["overloaded", "retryable", "durableObjectReset"];
  return (
    flags.some((flag) => Reflect.get(error, flag) === true) ||
    error.message.includes("Network connection lost")
  );
}
