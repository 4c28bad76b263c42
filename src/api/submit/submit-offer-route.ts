import { taskAnswer } from "../http/answer.ts";
import { route } from "../http/route.ts";
import { Unread } from "../operation.ts";
import { RETRY_AFTER_S } from "../tasks/read-task.ts";
import { readPreference, RESPOND_ASYNC } from "./preference.ts";
import { OfferedJob, submitOffer } from "./submit-offer.ts";
import { answerOf } from "./submit-route.ts";

/**
 * Route of submissions by an offer with a body. The body of the request has the arguments that the offer describes; the
 * answer is the task, or the upstream's own answer when it refuses the job.
 */
export const submitOfferRoute = route(
  {
    id: "submitOffer",
    method: "POST",
    path: "/v1/submit/{offer}",
    access: "submit",
    rateLimit: "LIMIT_SUBMITS",
  },
  async ({ request, params, caller, ...context }) => {
    const { headers, body } = request;
    const submitted = await submitOffer.perform(
      {
        params,
        body: new Unread(() => new OfferedJob(headers, { body })),
        idempotencyKey: headers.get("Idempotency-Key"),
      },
      caller,
      { ...context, counted: "LIMIT_SUBMITS" },
    );
    if (submitted.kind === "refused") return answerOf(submitted.answer);
    const { taskId, task, statusUrl, isReplayed } = submitted;
    return taskAnswer(task, 202, {
      Location: `/v1/tasks/${taskId}`,
      "Relay-Task-Id": taskId,
      ...(readPreference(headers).isAsync && { "Preference-Applied": RESPOND_ASYNC }),
      ...(statusUrl !== null && { "Relay-Status-Url": statusUrl }),
      ...(!task.isTerminal && { "Retry-After": RETRY_AFTER_S }),
      ...(isReplayed && { "Idempotent-Replayed": "true" }),
    });
  },
);
