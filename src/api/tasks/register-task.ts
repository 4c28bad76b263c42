import type * as z from "zod/mini";
import { appendMembers } from "../../core/json.ts";
import { priceOf, usageNamesWithout } from "../../config/price.ts";
import type { RegisterEvent } from "../../core/events/event.ts";
import { statedEvents } from "../../core/record/callback-events.ts";
import type { Price } from "../../core/record/price-rule.ts";
import type { Account } from "../../core/record/task.ts";
import { traceMember } from "../../core/record/trace.ts";
import type { Env } from "../../env.ts";
import type { Connection } from "../../providers/provider.ts";
import type { Runtime } from "../../config/runtime.ts";
import { toSeconds } from "../../core/time.ts";
import { readerOf } from "../../objects/task/caller.ts";
import { findAccount } from "../accounts/account-client.ts";
import { taskAnswer } from "../http/answer.ts";
import { requireSchedule } from "../callbacks/callback-schedule.ts";
import { refusalForTask } from "../callbacks/callback-url.ts";
import { endpointOfTask } from "../endpoints/endpoint-client.ts";
import { requireConnection } from "./connection.ts";
import { type HookFields, hookFields } from "../hooks/hook-url.ts";
import { idOfKey } from "./idempotency-key.ts";
import { invalidRequest, Problem, unknownAccount } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { statusUrlFor } from "./status-url.ts";
import { Registration } from "./task-schemas.ts";
import { accepted, taskClient } from "./task-client.ts";
import type { Applied, TaskReply } from "../../objects/task/reply.ts";
import type { OutsideEvent } from "../../objects/task/outside-event.ts";

/**
 * Registers a task. Clients do this before they submit the job to the upstream, so that no hook arrives before the task
 * exists.
 */
export const registerTask = operation(
  "registerTask",
  { access: "operate", query: NoQuery, body: Registration, takesIdempotencyKey: true },
  async (call): Promise<Registered> => {
    const { env, runtime, caller, origin, body, idempotencyKey: key, trace } = call;
    const refusal = refusalForTask(body.callback_url, runtime, origin, body.account !== null);
    if (refusal !== null) throw invalidRequest([{ path: "/callback_url", message: refusal }]);
    const schedule = requireSchedule(
      body.callback_schedule_s,
      runtime.config,
      "/callback_schedule_s",
    );
    const price = priceIn(body);
    if (price !== null && body.id === null && key === null) throw nameRequired(body);
    const connection =
      body.provider === null ? null : requireConnection(body.provider, runtime.config);
    requireUsageName(price, connection, "/price/per/usage");
    const id =
      body.id ?? (key === null ? crypto.randomUUID() : await idOfKey(readerOf(caller), key));
    const fields = connection === null ? {} : await hookFields(connection, id, call);
    const event: Extract<OutsideEvent, { type: "register" }> = {
      type: "register",
      id,
      model: body.model,
      origin,
      registration: {
        ...registrationOf(body, price),
        ...schedule,
        ...statedEvents(body.callback_events),
      },
      ...simulatedStartOf(body.model, null, connection),
      ...(await billingOf(body.account, price !== null, env, runtime)),
      ...(await endpointOfTask(body.callback_url, body.account, "/callback_url", env)),
      ...traceMember(trace),
    };
    const applied = await taskClient(env, id).apply(event, caller);
    if (body.id === null) requireUnusedKey(applied);
    const { isNew, task } = accepted(applied);
    const { recordedAt, createdAt } = task;
    const times = { createdAtS: toSeconds(createdAt), recordedAt, deadlineAtS: body.deadline_at };
    return {
      id,
      isNew,
      isReplayed: !isNew && key !== null,
      task,
      members: { ...fields, ...linkIn(await statusUrlFor({ id, ...times }, runtime, origin)) },
    };
  },
);

function linkIn(url: string | null) {
  return url === null ? {} : { status_url: url };
}

export const registerTaskRoute = routeOf(
  { method: "POST", path: "/v1/tasks" },
  registerTask,
  ({ id, isNew, isReplayed, task, members }) => {
    const answer = { ...task, json: appendMembers(task.json, JSON.stringify(members)) };
    if (isNew) return taskAnswer(answer, 201, { Location: `/v1/tasks/${id}` });
    return taskAnswer(answer, 200, isReplayed ? { "Idempotent-Replayed": "true" } : {});
  },
);

/** Result of a registration: the registered task, and whether it is new. */
interface Registered {
  readonly id: string;
  /** False when an earlier, equal call has registered the task. */
  readonly isNew: boolean;
  /** True when the task existed before and the call has an `Idempotency-Key`. */
  readonly isReplayed: boolean;
  readonly task: TaskReply;
  /**
   * Members that only the response to a registration has: the status link, and what the client must add to its submit
   * call to the provider.
   */
  readonly members: HookFields & { readonly status_url?: string };
}

type Body = z.output<typeof Registration>;

/** Returns the price that a registration states for its task. @returns null when the task costs nothing. */
function priceIn({ credits, price }: Body): Price | null {
  if (price !== null) return priceOf(price);
  return credits === null ? null : { credits, rule: null };
}

/**
 * Returns the credits to charge for a task and, if its price depends on usage, the rule from which the final price is
 * computed, both in the form of a stored registration.
 */
export function chargeOf(
  price: Price | null,
): Pick<RegisterEvent["registration"], "credits" | "priceRule"> {
  if (price === null) return { credits: null };
  const { credits, rule } = price;
  return { credits, ...(rule !== null && { priceRule: rule }) };
}

/**
 * Checks that jobs of a connection report the usage number on which a price depends.
 * @param path JSON Pointer to the name of this number in the request.
 * @throws Problem `invalid_request` when they do not report it.
 */
export function requireUsageName(
  price: Price | null,
  connection: Connection | null,
  path: string,
): void {
  const known = price && usageNamesWithout(price, connection && connection.provider);
  if (known === null) return;
  const message =
    known.length === 0
      ? "must be left out: jobs of this provider state no usage"
      : `must be one of ${known.join(", ")}`;
  throw invalidRequest([{ path, message }]);
}

function registrationOf(body: Body, price: Price | null): RegisterEvent["registration"] {
  return {
    callbackUrl: body.callback_url,
    provider: body.provider,
    parameters: body.parameters,
    metadata: body.metadata,
    deadlineAt: body.deadline_at === null ? null : body.deadline_at * 1000,
    accountId: body.account,
    ...chargeOf(price),
  };
}

/**
 * Returns the job of a new task of the simulated provider, which starts at once, and the deadline that the model sets.
 * For a task of any other provider, both are null, because its job becomes known only from the submit call.
 * @param path path of the call with which the task begins; null when it is registered without one.
 * @throws Problem `invalid_request` for a model that the simulated provider does not have.
 */
export function simulatedStartOf(
  model: string,
  path: string | null,
  connection: Connection | null,
) {
  if (connection === null || connection.provider.polls !== null) {
    return { job: null, deadlineMs: null };
  }
  const started = connection.provider.simulation.start(model, path);
  if (!started.ok) throw invalidRequest([{ path: "/model", message: started.error }]);
  return started.value;
}

/**
 * Returns, for a new task of an account, either the account or a new id for the charge of the price. When the relay's
 * own ledger charges the task, `chargeId` is that id, and `account` is null, because the ledger's reply will contain
 * the account. Otherwise `chargeId` is null. For a task without an account, both are null.
 * @throws Problem `not_found` when the account does not exist.
 */
export async function billingOf(
  accountId: string | null,
  isPriced: boolean,
  env: Env,
  { config }: Runtime,
): Promise<{ readonly account: Account | null; readonly chargeId: string | null }> {
  if (accountId === null) return { account: null, chargeId: null };
  if (isPriced && config.settlementUrl === null) {
    return { account: null, chargeId: crypto.randomUUID() };
  }
  const account = await findAccount(env, accountId);
  if (account === null) throw unknownAccount();
  return { account, chargeId: null };
}

/**
 * Returns the problem for a registration with a price that has neither a task id nor an `Idempotency-Key`. If its
 * response were lost, the caller could not repeat it without being charged twice.
 */
function nameRequired({ price }: Body): Problem {
  const member = price === null ? "credits" : "price";
  return invalidRequest([
    { path: "/id", message: `id or Idempotency-Key is required with ${member}` },
  ]);
}

/**
 * Checks the outcome of a registration whose task id was derived from an `Idempotency-Key`.
 * @throws Problem `idempotency_key_reused` when the id, and therefore the key, already belongs to another task.
 */
export function requireUnusedKey(applied: Applied): void {
  if (applied.kind !== "refused" || applied.refusal.code !== "task_exists") return;
  const detail = "The member task is the task that was registered under this key.";
  const taskJson = applied.refusal.task.json;
  throw new Problem("idempotency_key_reused", { detail, taskJson });
}
