import { seeOther } from "../http/html-answer.ts";
import { registerTask } from "../../api/tasks/register-task.ts";
import { formAction } from "../http/page.ts";

/** Registers a task of the simulated provider, and redirects to its page. The task completes by itself. */
export const runSandboxTask = formAction("/sandbox", "operate", async (visit) => {
  const id = crypto.randomUUID();
  const body = { id, provider: "sandbox", model: "sandbox/ok" };
  await registerTask.perform({ params: {}, body }, visit.viewer, visit);
  return seeOther(`/tasks/${id}`);
});
