import type * as z from "zod";
import type { RegisterEvent } from "../../core/event.ts";
import type { Account } from "../../core/task.ts";
import type { Env } from "../../env.ts";
import type { Relay } from "../../relay.ts";
import { findAccount } from "../accounts/account-client.ts";
import { accepted, taskAnswer } from "../answer.ts";
import { requireAcceptable } from "../callback-url.ts";
import { idempotencyKeyOf, idOfKey } from "./idempotency-key.ts";
import { invalidRequest, Problem, unknownAccount } from "../problem.ts";
import { bodyRoute } from "../route.ts";
import { Registration } from "../schemas.ts";
import { taskClient } from "./task-client.ts";

export const registerTask = bodyRoute(
  {
    method: "POST",
    path: "/v1/tasks",
    who: "operator",
    summary: "Register a task before it is submitted upstream, and charge its price",
    answers: { 201: "registered", 200: "the same registration again" },
    errors: ["task_exists", "idempotency_key_reused", "insufficient_credits", "not_found"],
  },
  Registration,
  async ({ request, env, relay, viewer, origin, body }) => {
    const key = idempotencyKeyOf(request.headers);
    requireAcceptable(body.callback_url, relay, origin);
    if (body.credits !== null && body.id === null && key === null) throw unrepeatable();
    const id = body.id ?? (key === null ? crypto.randomUUID() : await idOfKey(viewer.role, key));
    const event: RegisterEvent = {
      type: "register",
      id,
      model: body.model,
      origin,
      registration: registrationOf(body),
      ...(await billingOf(body, env, relay)),
    };
    const applied = await taskClient(env, id).apply(event, viewer);
    if (applied.kind === "conflict" && body.id === null) throw keyReused(applied.task.json);
    const { isNew, task } = accepted(applied);
    if (isNew) return taskAnswer(task, 201, { Location: `/v1/tasks/${id}` });
    return taskAnswer(task, 200, key === null ? {} : { "Idempotent-Replayed": "true" });
  },
);

type Body = z.output<typeof Registration>;

function registrationOf(body: Body): RegisterEvent["registration"] {
  return {
    callbackUrl: body.callback_url,
    parameters: body.parameters,
    metadata: body.metadata,
    deadlineAt: body.deadline_at === null ? null : body.deadline_at * 1000,
    accountId: body.account,
    credits: body.credits,
  };
}

/** Where our ledger charges, it answers for the account too; otherwise the account is looked up here. */
async function billingOf(
  { account: accountId, credits }: Body,
  env: Env,
  { config }: Relay,
): Promise<{ readonly account: Account | null; readonly chargeId: string | null }> {
  if (accountId === null) return { account: null, chargeId: null };
  if (credits !== null && config.settlementUrl === null) {
    return { account: null, chargeId: crypto.randomUUID() };
  }
  const account = await findAccount(env, accountId);
  if (account === null) throw unknownAccount();
  return { account, chargeId: null };
}

/** A charge whose answer is lost must be repeatable, so the caller has to name the task. */
function unrepeatable(): Problem {
  return invalidRequest([
    { path: "/id", message: "id or Idempotency-Key is required with credits" },
  ]);
}

function keyReused(taskJson: string): Problem {
  const detail = "The task that was registered under this key is in the member task.";
  return new Problem("idempotency_key_reused", { detail, taskJson });
}
