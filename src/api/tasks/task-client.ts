import type { Env } from "../../env.ts";
import type { Applied, Refused, TaskReply } from "../../task/reply.ts";
import type { Caller } from "../../task/caller.ts";
import type { OutsideEvent } from "../../task/task-object.ts";
import { invalidRequest, Problem, unknownAccount, unknownTask } from "../http/problem.ts";
import { callObject, unavailable } from "../http/object-call.ts";

/** Asks the object of one task. @throws Problem `unavailable` when the object cannot be reached. */
export function taskClient(env: Env, id: string) {
  // A stub that has failed stays broken, so each question takes a new one.
  const stub = () => env.TASKS.getByName(id);
  return {
    read: (caller: Caller) => callObject<TaskReply | null>(() => stub().read(caller)),
    apply: (event: OutsideEvent, caller: Caller) =>
      callObject<Applied>(() => stub().apply(event, caller)),
  };
}

/** The refusal of an event, as the wire says it. */
export function problemOf(refused: Refused): Problem {
  switch (refused.kind) {
    case "unknown_task":
      return unknownTask();
    case "unknown_account":
      return unknownAccount();
    case "charging":
      return unavailable("The price of this task is still being charged.");
    case "insufficient_credits": {
      const { balance, price } = refused;
      const detail = `The task costs ${price} credits and the account has ${balance}.`;
      return new Problem("insufficient_credits", { detail, members: { balance, price } });
    }
    case "invalid_field":
      return invalidRequest([{ path: refused.field, message: refused.message }]);
    case "conflict":
      return new Problem(refused.code, {
        detail: "The task as it is now is in the member task.",
        taskJson: refused.task.json,
      });
  }
}
