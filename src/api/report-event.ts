import type * as z from "zod";
import type { ReportEvent } from "../core/event.ts";
import { accepted, taskAnswer } from "./answer.ts";
import { refusalOf } from "./callback-url.ts";
import { bodyRoute } from "./route.ts";
import { TaskFinishEvent } from "./schemas.ts";
import { taskClient } from "./task-client.ts";

export const reportEvent = bodyRoute(
  {
    method: "POST",
    path: "/v1/events",
    who: "upstream",
    summary: "Report that a task goes on, has completed or has failed",
    answers: { 202: "recorded", 200: "the same event again" },
    errors: ["unknown_task", "conflicting_result"],
  },
  TaskFinishEvent,
  async ({ env, relay, role, origin, body }) => {
    const { model, account, created_at, callback_url } = body;
    const creation =
      model === null
        ? null
        : {
            model,
            account,
            createdAt: created_at === null ? null : created_at * 1000,
            callbackUrl: callback_url,
            callbackUrlRefusal: refusalOf(callback_url, relay, origin),
            origin,
          };
    const event: ReportEvent = { type: "report", id: body.id, news: newsOf(body), creation };
    const { isNew, task } = accepted(await taskClient(env, body.id).apply(event, role));
    return taskAnswer(task, isNew ? 202 : 200);
  },
);

function newsOf(body: z.output<typeof TaskFinishEvent>): ReportEvent["news"] {
  switch (body.status) {
    case "processing":
      return { status: "processing" };
    case "completed": {
      const { urls, metadata } = body.output;
      const completedAt = body.completed_at === null ? null : body.completed_at * 1000;
      return { status: "completed", completedAt, urls, metadata };
    }
    case "failed":
      return { status: "failed", error: body.error };
  }
}
