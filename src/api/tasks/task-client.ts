import type { Env } from "../../env.ts";
import type { Applied, Refused, TaskReply } from "../../task/reply.ts";
import type { Caller } from "../../task/caller.ts";
import type { OutsideEvent } from "../../task/task-object.ts";
import { invalidRequest, Problem, unknownAccount, unknownTask } from "../http/problem.ts";
import { callObject, unavailable } from "../http/object-call.ts";

/** Returns the calls to the object of one task. @throws Problem `unavailable` when it cannot be reached. */
export function taskClient(env: Env, id: string) {
  // A stub that has failed stays broken, so each call takes a new one.
  const stub = () => env.TASKS.getByName(id);
  return {
    read: (caller: Caller) => callObject<TaskReply | null>(() => stub().read(caller)),
    apply: (event: OutsideEvent, caller: Caller) =>
      callObject<Applied>(() => stub().apply(event, caller)),
  };
}

/** Returns the task after an accepted event. @throws Problem when the event was refused. */
export function accepted(applied: Applied): { readonly isNew: boolean; readonly task: TaskReply } {
  switch (applied.kind) {
    case "recorded":
    case "repeated":
      return { isNew: applied.kind === "recorded", task: applied.task };
    case "erased":
      throw new Error("the event has erased the task");
    case "conflict":
    case "invalid_field":
    case "insufficient_credits":
    case "unknown_task":
    case "unknown_account":
    case "charging":
      throw problemOf(applied);
  }
}

/** Converts the refusal of an event to a problem. */
function problemOf(refused: Refused): Problem {
  switch (refused.kind) {
    case "unknown_task":
      return unknownTask();
    case "unknown_account":
      return unknownAccount();
    case "charging":
      return unavailable("The charge for this task is still in progress.");
    case "insufficient_credits": {
      const { balance, price } = refused;
      const detail = `The task costs ${price} credits and the account has ${balance}.`;
      return new Problem("insufficient_credits", { detail, members: { balance, price } });
    }
    case "invalid_field":
      return invalidRequest([{ path: refused.field, message: refused.message }]);
    case "conflict":
      return new Problem(refused.code, {
        detail: "The member task is the current state of the task.",
        taskJson: refused.task.json,
      });
  }
}
