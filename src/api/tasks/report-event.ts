import type * as z from "zod/mini";
import type { ReportEvent } from "../../core/events/event.ts";
import { traceMember } from "../../core/record/trace.ts";
import { statedEvents } from "../../core/record/callback-events.ts";
import type { Usage } from "../../core/record/upstream.ts";
import type { Env } from "../../env.ts";
import type { OutsideEvent } from "../../objects/task/outside-event.ts";
import { findAccount } from "../accounts/account-client.ts";
import { taskAnswer } from "../http/answer.ts";
import { requireSchedule } from "../callbacks/callback-schedule.ts";
import { refusalForTask } from "../callbacks/callback-url.ts";
import { endpointOfTask } from "../endpoints/endpoint-client.ts";
import { repeatable, routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { TaskFinishEvent } from "./event-schema.ts";
import { accepted, taskClient } from "./task-client.ts";

/**
 * Reports the progress or the result of a task. An event with a `model` creates the task if there is none with its id.
 */
const reportEvent = operation(
  "reportEvent",
  { access: "report", query: NoQuery, body: TaskFinishEvent },
  async ({ env, runtime, caller, origin, body, trace }) => {
    const creation = body.model === null ? null : await creationOf(body, body.model, env);
    const schedule = requireSchedule(
      body.callback_schedule_s,
      runtime.config,
      "/callback_schedule_s",
    );
    const event: Extract<OutsideEvent, { type: "report" }> = {
      type: "report",
      id: body.id,
      news: eventNews(body),
      creation: creation && {
        ...creation,
        ...schedule,
        ...statedEvents(body.callback_events),
        callbackUrlRefusal: refusalForTask(
          body.callback_url,
          runtime,
          origin,
          body.account !== null,
        ),
        origin,
        ...traceMember(trace),
      },
    };
    return accepted(await taskClient(env, body.id).apply(event, caller));
  },
);

const eventRoute = routeOf({ method: "POST", path: "/v1/events" }, reportEvent, ({ isNew, task }) =>
  taskAnswer(task, isNew ? 202 : 200),
);

export const reportEventRoute = repeatable(eventRoute);

type Body = z.output<typeof TaskFinishEvent>;

async function creationOf(body: Body, model: string, env: Env) {
  const { account: accountId, created_at, callback_url: callbackUrl } = body;
  const account = accountId === null ? null : await findAccount(env, accountId);
  return {
    model,
    account,
    isAccountUnknown: accountId !== null && account === null,
    createdAt: created_at === null ? null : created_at * 1000,
    callbackUrl,
    ...(await endpointOfTask(callbackUrl, accountId, "/callback_url", env)),
  };
}

function eventNews(body: Body): ReportEvent["news"] {
  switch (body.status) {
    case "processing":
      return { status: "processing" };
    case "completed": {
      const { urls, metadata } = body.output;
      const completedAt = body.completed_at === null ? null : body.completed_at * 1000;
      return { status: "completed", completedAt, urls, metadata, ...usageIn(body.usage) };
    }
    case "failed":
      return { status: "failed", error: body.error, ...usageIn(body.usage) };
  }
}

function usageIn(usage: Usage | null): { readonly usage?: Usage } {
  return usage === null || Object.keys(usage).length === 0 ? {} : { usage };
}
