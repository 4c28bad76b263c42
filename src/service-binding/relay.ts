import { WorkerEntrypoint } from "cloudflare:workers";
import { readJson, requireSize } from "../api/http/body.ts";
import { problemFrom } from "../api/http/internal-error.ts";
import { Problem, problemMembers, refusalLine } from "../api/http/problem.ts";
import { requireRuntime, type Route } from "../api/http/route.ts";
import { type Context, Unread } from "../api/operation.ts";
import { deleteOutput, deleteOutputRoute } from "../api/outputs/delete-output.ts";
import { listTasks, listTasksRoute } from "../api/search/list-tasks.ts";
import { submitJob } from "../api/submit/submit-job.ts";
import { submitJobRoute } from "../api/submit/submit-route.ts";
import { attachUpstream, attachUpstreamRoute } from "../api/tasks/attach-upstream.ts";
import { cancelTask, cancelTaskRoute } from "../api/tasks/cancel-task.ts";
import { eraseTask, eraseTaskRoute } from "../api/tasks/erase-task.ts";
import { readTask, readTaskRoute } from "../api/tasks/read-task.ts";
import { redeliverTask, redeliverTaskRoute } from "../api/tasks/redeliver-task.ts";
import { registerTask, registerTaskRoute } from "../api/tasks/register-task.ts";
import { reportEvent, reportEventRoute } from "../api/tasks/report-event.ts";
import { taskIn } from "../api/tasks/task-json.ts";
import type { Env } from "../env.ts";
import { log } from "../lib/log.ts";
import { bytesOf } from "../security/encoding.ts";
import type { Caller } from "../objects/task/caller.ts";
import type * as service from "./relay-service.ts";
import { upstreamCallOf } from "./submit-arguments.ts";

/**
 * Caller as which operations treat another Worker of the same Cloudflare account: an operator with all permissions.
 * The account is trusted, because whoever deploys Workers into it could also change the relay itself.
 */
const CALLER: Caller = { kind: "operator", role: "all", key: "binding" };

/**
 * Origin that stands for the relay's own origin in a call through a service binding while `PUBLIC_URL` is not set. No
 * real host can have this name (RFC 2606 §2).
 */
const NO_ORIGIN = "https://relay.invalid";

/**
 * Entrypoint for other Workers of the same Cloudflare account, over a service binding: typed methods that need no key
 * and no HTTP. Each method performs the operation of the same name, and answers `{ok: true, …}` or `{ok: false,
 * problem}`. The problem (RFC 9457) is the same as that of the HTTP API. docs/binding.md has examples.
 *
 * A Worker without types may pass any values, so every argument is checked like the input of a request.
 */
export class Relay extends WorkerEntrypoint<Env> implements service.RelayService {
  async submit(
    connection: string,
    path: string,
    init?: service.SubmitInit,
  ): Promise<service.Answer<service.Submission>> {
    return answered(submitJobRoute, this.env, async (context) => {
      const call = new Unread(() => upstreamCallOf(path, { ...init }));
      const given = { params: { connection: textOf(connection) }, body: call, ...keyIn(init) };
      const submitted = await submitJob.perform(given, CALLER, context);
      const { taskId, statusUrl, isReplayed, status, headers, body } = submitted;
      return {
        taskId,
        statusUrl: context.origin === NO_ORIGIN ? null : statusUrl,
        isReplayed,
        status,
        headers: Object.fromEntries(headers),
        body: typeof body === "string" ? bytesOf(body) : body,
      };
    });
  }

  async register(
    registration: service.TaskRegistration,
    options?: service.Repeatable,
  ): Promise<service.Changed<service.RegisteredTask>> {
    return answered(registerTaskRoute, this.env, async (context) => {
      const given = { params: {}, body: argument(registration, context), ...keyIn(options) };
      const { isNew, task, members } = await registerTask.perform(given, CALLER, context);
      const { status_url, ...hook } = members;
      const link = context.origin === NO_ORIGIN ? {} : { status_url };
      return { isNew, task: { ...taskIn(task), ...hook, ...link } };
    });
  }

  async attach(
    id: string,
    job: service.UpstreamJob,
  ): Promise<service.Answer<{ readonly task: service.Task }>> {
    return answered(attachUpstreamRoute, this.env, async (context) => {
      const given = { ...taskOf(id), body: argument(job, context) };
      return { task: taskIn(await attachUpstream.perform(given, CALLER, context)) };
    });
  }

  async report(event: service.TaskEvent): Promise<service.Changed<service.Task>> {
    return answered(reportEventRoute, this.env, async (context) => {
      const given = { params: {}, body: argument(event, context) };
      const { isNew, task } = await reportEvent.perform(given, CALLER, context);
      return { isNew, task: taskIn(task) };
    });
  }

  async read(
    id: string,
    options?: { readonly wait?: number },
  ): Promise<service.Answer<{ readonly task: service.Task }>> {
    return answered(readTaskRoute, this.env, async (context) => {
      const { wait } = { ...options };
      const given = { ...taskOf(id), query: textsOf({ wait }) };
      return { task: taskIn((await readTask.perform(given, CALLER, context)).task) };
    });
  }

  async list(query: service.TaskQuery = {}): Promise<service.Answer<service.TaskList>> {
    return answered(listTasksRoute, this.env, async (context) =>
      listTasks.perform({ params: {}, query: textsOf({ ...query }) }, CALLER, context),
    );
  }

  async redeliver(
    id: string,
    order: service.Redelivery = {},
    options?: service.Repeatable,
  ): Promise<service.Changed<service.Task>> {
    return answered(redeliverTaskRoute, this.env, async (context) => {
      const given = { ...taskOf(id), body: argument(order, context), ...keyIn(options) };
      const { isNew, task } = await redeliverTask.perform(given, CALLER, context);
      return { isNew, task: taskIn(task) };
    });
  }

  async cancel(
    id: string,
    options?: { readonly force?: boolean },
  ): Promise<service.Answer<{ readonly task: service.Task }>> {
    return answered(cancelTaskRoute, this.env, async (context) => {
      const { force } = { ...options };
      const given = { ...taskOf(id), query: textsOf({ force }) };
      const { task } = await cancelTask.perform(given, CALLER, context);
      return { task: taskIn(task) };
    });
  }

  async deleteOutput(id: string, number: number): Promise<service.Answer<object>> {
    return answered(deleteOutputRoute, this.env, async (context) => {
      const params = { ...taskOf(id).params, output: textOf(number) };
      await deleteOutput.perform({ params }, CALLER, context);
      return {};
    });
  }

  async erase(id: string): Promise<service.Answer<object>> {
    return answered(eraseTaskRoute, this.env, async (context) => {
      await eraseTask.perform(taskOf(id), CALLER, context);
      return {};
    });
  }
}

/**
 * Calls `act` and returns its result. When the relay refuses the call, returns the problem instead and logs the
 * refusal.
 * @param route route of the same operation, by which the log names the refused call.
 */
async function answered<T extends object>(
  { method, path }: Route,
  env: Env,
  act: (context: Context) => Promise<T>,
): Promise<service.Answer<T>> {
  try {
    const runtime = requireRuntime(env);
    const origin = runtime.config.publicUrl ?? NO_ORIGIN;
    return { ok: true, ...(await act({ env, runtime, origin })) };
  } catch (error) {
    const problem = problemFrom(error);
    const line = refusalLine(problem, { via: "binding", method, path });
    log(line, line.status >= 500 ? "warn" : "info");
    const { taskJson } = problem.details;
    const task = taskJson === undefined ? {} : { task: taskIn({ json: taskJson }) };
    return { ok: false, problem: { ...problemMembers(problem, ""), ...task } };
  }
}

/**
 * Returns an argument of a method as input of an operation, which reads it as if a client had sent it as JSON. The
 * size limit applies to the JSON text. A value that JSON cannot express is refused, e.g. an object that contains
 * itself, or read as JSON writes it, e.g. a Map as `{}`.
 */
function argument(value: unknown, { runtime }: Context): Unread {
  return new Unread(() => {
    const bytes = bytesOf(jsonOf(value));
    requireSize(bytes, runtime.config.maxBodyBytes);
    return bytes.length === 0 ? {} : readJson(bytes);
  });
}

/**
 * Returns the JSON text of a value; the empty text for undefined.
 * @throws Problem `invalid_json` for a value that cannot be written as JSON, e.g. a BigInt or an object that contains
 * itself.
 */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    const issues = [{ path: "", message: "must be a value that JSON has" }];
    throw new Problem("invalid_json", { detail: "The argument is not a JSON value.", issues });
  }
}

/** Returns parameters as the texts that a query in a URL would contain. A parameter that is undefined is left out. */
function textsOf(query: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, textOf(value)]));
}

function taskOf(id: unknown) {
  return { params: { id: textOf(id) } };
}

function keyIn(options: { readonly idempotencyKey?: unknown } | undefined) {
  const { idempotencyKey } = { ...options };
  return idempotencyKey === undefined ? {} : { idempotencyKey: textOf(idempotencyKey) };
}

/** Returns a value as the text that a path, a query or a header would contain. */
function textOf(value: unknown): string {
  return String(value);
}
