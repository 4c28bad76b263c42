import { eraseStored } from "../../../api/tasks/erase-task.ts";
import { redeliverTask } from "../../../api/tasks/redeliver-task.ts";
import { accepted, taskClient } from "../../../api/tasks/task-client.ts";
import { withFaultsIn } from "../../form-fault.ts";
import { numberIn } from "../../form-number.ts";
import { order, seeOther } from "../../order.ts";
import { formAction } from "../../page.ts";
import { SEND_AGAIN } from "./actions.tsx";
import { taskIdOf } from "./data.ts";
import { showTask } from "./page.tsx";

/** Orders a redelivery and redirects to the task. A form that is sent twice orders it only once. */
export const sendAgain = formAction("/tasks/{id}/redeliver", "redeliver", async (visit) => {
  const { form, params } = visit;
  const body = {
    attempts: form.has("attempts") ? numberIn(form, "attempts") : 1,
    callback_url: form.get("callback_url") || null,
  };
  return withFaultsIn(
    { id: SEND_AGAIN, typed: form, fields: ["callback_url"] },
    async () => {
      await order(visit, redeliverTask, params, body, form.get("idempotency_key"));
      return seeOther(`/tasks/${taskIdOf(params.id)}`);
    },
    (fault) => showTask(visit, fault),
  );
});

/** Cancels a task and redirects to it. */
export const cancel = formAction(
  "/tasks/{id}/cancel",
  "operate",
  async ({ env, viewer, params }) => {
    const id = taskIdOf(params.id);
    accepted(await taskClient(env, id).apply({ type: "cancel" }, viewer));
    return seeOther(`/tasks/${id}`);
  },
);

/** Erases a task and redirects to the front page of the console. */
export const erase = formAction("/tasks/{id}/erase", "administer", async (visit) => {
  const { env, runtime, viewer, params } = visit;
  await eraseStored(taskIdOf(params.id), viewer, runtime, env);
  return seeOther("/");
});
