import { Problem } from "../../api/http/problem.ts";
import { seeOther } from "../http/html-answer.ts";
import { cancelTask } from "../../api/tasks/cancel-task.ts";
import { eraseTask } from "../../api/tasks/erase-task.ts";
import { redeliverTask } from "../../api/tasks/redeliver-task.ts";
import { withFaultsIn } from "../http/form-fault.ts";
import { numberIn } from "../http/form-number.ts";
import { formAction } from "../http/page.ts";
import { REDELIVER } from "./actions.tsx";
import { taskIdOf } from "./task-data.ts";
import { showTask } from "./task-page.tsx";

/**
 * Orders a redelivery and redirects to the page of the task. A form that is sent twice orders only one redelivery.
 */
export const redeliver = formAction("/tasks/{id}/redeliver", "redeliver", async (visit) => {
  const { form, viewer, params } = visit;
  const body = {
    attempts: form.has("attempts") ? numberIn(form, "attempts") : 1,
    callback_url: form.get("callback_url") || null,
  };
  return withFaultsIn(
    { id: REDELIVER, typed: form, fields: ["callback_url"] },
    async () => {
      const given = { params, body, idempotencyKey: form.get("idempotency_key") };
      await redeliverTask.perform(given, viewer, visit);
      return seeOther(`/tasks/${taskIdOf(params.id)}`);
    },
    (fault) => showTask(visit, fault),
  );
});

/** Cancels a task and redirects to its page, which also shows the result of a job that has ended meanwhile. */
export const cancel = formAction("/tasks/{id}/cancel", "cancel", async (visit) => {
  const { form, viewer, params } = visit;
  const query = form.has("force") ? { force: form.get("force") } : {};
  try {
    await cancelTask.perform({ params, query }, viewer, visit);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "task_settled") throw error;
  }
  return seeOther(`/tasks/${taskIdOf(params.id)}`);
});

/** Erases a task and redirects to the front page of the console. */
export const erase = formAction("/tasks/{id}/erase", "administer", async (visit) => {
  const { viewer, params } = visit;
  await eraseTask.perform({ params }, viewer, visit);
  return seeOther("/");
});
