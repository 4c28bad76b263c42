import { type Examples, examplesOf } from "../../../shared/examples/report-examples.ts";
import { answersAt } from "../../../shared/examples/submit-examples.ts";
import {
  completed,
  failed,
  NO_OUTPUT,
  PROCESSING,
  using,
} from "../../../shared/examples/meanings.ts";

const id = "24cd5dff-cb81-4db5-8506-b72a9425f9d1";
const url = "https://vm.runware.ai/video/ws/5/vi/a.mp4";
const head = { taskType: "videoInference", taskUUID: id };
const item = { ...head, videoUUID: "b7db282d", videoURL: url, seed: 6_608_925, cost: 0.18 };
const success = { data: [{ ...item, status: "success" }] };
const done = using({ cost: 0.18 }, completed([url], { seed: 6_608_925 }));
const inState = (status: string) => ({ data: [{ ...head, status }] });
const { hook, poll } = examplesOf(id, "/v1");
const submitted = answersAt("/v1");
const fault = (code: string, message: string) => ({
  data: [],
  errors: [{ ...head, code, message, status: "error" }],
});
const moderated = fault("invalidProviderContent", "Content violates the content policy.");
const broken = fault("timeoutProvider", "The external provider did not respond.");

/**
 * Examples of the answers and hooks of Runware (https://runware.ai/docs/platform/task-polling, …/webhooks and
 * …/errors).
 */
export const examples: Examples = {
  provider: "runware",
  hooks: {
    success: hook("a success", success, done),
    noOutput: hook("a success without output", inState("success"), NO_OUTPUT),
    moderation: hook(
      "a stop by moderation",
      moderated,
      failed("moderation", "Content violates the content policy."),
    ),
    failure: hook("a failure", broken, failed("timeout", "The external provider did not respond.")),
    running: hook("a job at work", inState("processing"), PROCESSING),
    unknownState: hook("an unknown state", inState("warming"), null),
    unreadable: hook("a number", "7", "nothing"),
    others: [
      hook("an item without a state", { data: [item] }, done),
      hook("an item without data around it", item, done),
      hook("an item at work without data around it", { ...head, status: "processing" }, PROCESSING),
    ],
  },
  submits: {
    calls: [
      {
        path: "/v1",
        body: { ...head, model: "klingai:5@3", duration: 5, deliveryMethod: "async" },
        isListOfOne: true,
        model: "klingai:5@3",
        endpoint: null,
        metadata: { duration: 5 },
        answer: "job",
        takesMultipart: false,
      },
    ],
    otherPaths: ["/v1/x", "/v2", "/"],
    accepted: submitted("an acknowledgement", { data: [head] }, { namedJob: id }),
    result: { exempt: "The relay does not read results from answers to submissions here." },
    refused: submitted("wrong input", broken, { refused: "final" }, 400),
    limited: submitted("too many requests", undefined, { refused: "rate" }, 429),
    outage: submitted("an outage", undefined, "unclear", 502),
    withoutId: submitted("a page", undefined, "unclear"),
    others: [],
  },
  polls: {
    success: poll("a success", success, done),
    noOutput: poll("a success without output", inState("success"), NO_OUTPUT),
    moderation: poll(
      "a stop by moderation",
      moderated,
      failed("moderation", "Content violates the content policy."),
    ),
    failure: poll("a failure", broken, failed("timeout", "The external provider did not respond.")),
    running: poll("a job at work", inState("processing"), PROCESSING),
    unknownState: poll("an unknown state", inState("warming"), null),
    others: [
      poll("nothing found", { data: [] }, "unclear"),
      poll(
        "one of two items at work",
        {
          data: [
            { ...item, status: "success" },
            { ...head, status: "processing" },
          ],
        },
        PROCESSING,
      ),
      poll(
        "one of two items has failed",
        { data: success.data, errors: broken.errors },
        using({ cost: 0.18 }, failed("timeout", "The external provider did not respond.")),
      ),
      poll(
        "an error without a state",
        { errors: [{ code: "timeoutProvider", message: "No answer.", taskUUID: id }] },
        failed("timeout", "No answer."),
      ),
      poll(
        "an error about the key",
        { errors: [{ code: "invalidApiKey", message: "No.", taskType: "authentication" }] },
        "unclear",
      ),
      poll(
        "an error about the rate of requests, with the id of the job",
        { errors: [{ code: "rateLimitExceeded", message: "No.", taskUUID: id }] },
        PROCESSING,
      ),
    ],
  },
};
