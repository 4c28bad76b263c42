import { registerTask } from "../../../api/tasks/register-task.ts";
import { seeOther } from "../../order.ts";
import { formAction } from "../../page.ts";

/** Registers a task of the simulated provider, which completes by itself, and shows it. */
export const runSandboxTask = formAction("/sandbox", "operate", async ({ env, url, viewer }) => {
  const id = crypto.randomUUID();
  const body = JSON.stringify({ id, provider: "sandbox", model: "sandbox/ok" });
  const call = new URL("/v1/tasks", url);
  const request = new Request(call, { method: "POST", body });
  await registerTask.handleFrom(viewer, { request, env, url: call, params: {} });
  return seeOther(`/tasks/${id}`);
});
