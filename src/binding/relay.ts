import { WorkerEntrypoint } from "cloudflare:workers";
import { listTasksRoute } from "../api/search/list-tasks.ts";
import { attachUpstream } from "../api/tasks/attach-upstream.ts";
import { cancelTaskRoute } from "../api/tasks/cancel-task.ts";
import { eraseTaskRoute } from "../api/tasks/erase-task.ts";
import { readTask } from "../api/tasks/read-task.ts";
import { redeliverTaskRoute } from "../api/tasks/redeliver-task.ts";
import { registerTaskRoute } from "../api/tasks/register-task.ts";
import { reportEvent } from "../api/tasks/report-event.ts";
import type { Env } from "../env.ts";
import type * as service from "./relay-service.ts";
import { NO_ORIGIN, type Outcome, runRoute } from "./run-route.ts";

/**
 * Entrypoint for other Workers of the same Cloudflare account, over a service binding: typed methods without a
 * key and without HTTP. Each runs the route of the same operation, and answers `{ok: true, …}` or
 * `{ok: false, problem}` with a problem (RFC 9457) of the same codes. docs/binding.md has examples.
 */
export class Relay extends WorkerEntrypoint<Env> implements service.RelayService {
  async register(body: service.TaskRegistration, options?: service.Repeatable) {
    const { idempotencyKey } = { ...options };
    const outcome = await runRoute(registerTaskRoute, { body, idempotencyKey }, this.env);
    const answer = await changedTaskOf(outcome);
    if (!answer.ok || answer.task.status_url?.startsWith(NO_ORIGIN) !== true) return answer;
    const { status_url: _, ...task } = answer.task;
    return { ...answer, task };
  }

  async attach(id: string, body: service.UpstreamJob) {
    return taskOf(await runRoute(attachUpstream, { id, body }, this.env));
  }

  async report(body: service.TaskEvent) {
    return changedTaskOf(await runRoute(reportEvent, { body }, this.env));
  }

  async read(id: string, options?: { readonly wait?: number }) {
    const { wait } = { ...options };
    return taskOf(await runRoute(readTask, { id, query: { wait } }, this.env));
  }

  async list(query: service.TaskQuery = {}): Promise<service.Answer<service.TaskList>> {
    const outcome = await runRoute(listTasksRoute, { query: { ...query } }, this.env);
    if (!outcome.ok) return outcome;
    return { ok: true, ...(await outcome.response.json<service.TaskList>()) };
  }

  async redeliver(id: string, body: service.Redelivery = {}, options?: service.Repeatable) {
    const { idempotencyKey } = { ...options };
    return changedTaskOf(
      await runRoute(redeliverTaskRoute, { id, body, idempotencyKey }, this.env),
    );
  }

  async cancel(id: string) {
    return taskOf(await runRoute(cancelTaskRoute, { id }, this.env));
  }

  async erase(id: string): Promise<service.Answer<object>> {
    const outcome = await runRoute(eraseTaskRoute, { id }, this.env);
    return outcome.ok ? { ok: true } : outcome;
  }
}

async function taskOf(outcome: Outcome): Promise<service.Answer<{ readonly task: service.Task }>> {
  return outcome.ok ? { ok: true, task: await outcome.response.json() } : outcome;
}

async function changedTaskOf(outcome: Outcome): Promise<service.Changed<service.RegisteredTask>> {
  if (!outcome.ok) return outcome;
  const { status, headers } = outcome.response;
  const isNew = status !== 200 && !headers.has("Idempotent-Replayed");
  return { ok: true, isNew, task: await outcome.response.json() };
}
