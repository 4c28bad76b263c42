import { type Examples, examplesOf } from "../../../shared/examples/report-examples.ts";
import { answersAt, type SubmitCall } from "../../../shared/examples/submit-examples.ts";
import {
  completed,
  failed,
  NO_OUTPUT,
  PROCESSING,
  QUEUED,
} from "../../../shared/examples/meanings.ts";

const id = "2009191190196789249";
const url = "https://rh-images.example.com/output/a.mp4";
const open = { taskId: id, errorCode: "", errorMessage: "", results: null };
const success = { ...open, status: "SUCCESS", results: [{ url, outputType: "mp4", text: null }] };
const inState = (status: string) => ({ ...open, status });
const moderated = {
  ...inState("FAILED"),
  errorCode: "1501",
  errorMessage: "Content safety check failed",
};
const broken = { ...inState("FAILED"), errorCode: "805", errorMessage: "Task failed" };
const { hook, poll } = examplesOf(id, "/openapi/v2/query");
const ended = (eventData: unknown) => ({
  event: "TASK_END",
  taskId: id,
  eventData: JSON.stringify(eventData),
});
const APP = "/openapi/v2/run/ai-app/1937084629516193794";
const submitted = answersAt(APP);
const job = { id, endpoint: null };
const call: Omit<SubmitCall, "path" | "model"> = {
  body: { nodeInfoList: [] },
  endpoint: null,
  metadata: {},
  answer: "job",
  takesMultipart: false,
};

/** Examples of the answers and hooks of RunningHub's API v2 (https://www.runninghub.ai/runninghub-api-doc-en/). */
export const examples: Examples = {
  provider: "runninghub",
  hooks: {
    success: hook("a success", ended(success), completed([url])),
    noOutput: hook("a success without output", ended(inState("SUCCESS")), NO_OUTPUT),
    moderation: hook(
      "a stop by moderation",
      ended(moderated),
      failed("moderation", "Content safety check failed"),
    ),
    failure: hook("a failure", ended(broken), failed("provider", "Task failed")),
    running: { exempt: "A hook is sent at the end of a job only." },
    unknownState: hook("an unknown state", { ...success, eventData: inState("WARMING") }, null),
    unreadable: hook("a text", '"TASK_END"', "nothing"),
    others: [
      hook(
        "the end of a job of API v1",
        ended({ code: 0, data: [{ fileUrl: url }] }),
        completed([url]),
      ),
    ],
  },
  submits: {
    calls: [
      { ...call, path: APP, model: "1937084629516193794" },
      {
        ...call,
        path: "/openapi/v2/kling-v3.0-std/image-to-video",
        body: { prompt: "a fox", duration: "5" },
        model: "kling-v3.0-std",
        metadata: { duration: 5 },
      },
    ],
    otherPaths: [
      "/openapi/v2/query",
      "/openapi/v2/media/upload/binary",
      "/openapi/v2/run/ai-app",
      "/openapi/v2/run/ai-app/*",
      "/task/openapi/create",
    ],
    accepted: submitted("a new task", inState("RUNNING"), { job }),
    result: { exempt: "The answer to a submission is never the end of the job." },
    refused: submitted("wrong input", { errorCode: "301" }, { refused: "final" }, 400),
    limited: submitted("too many requests", undefined, { refused: "rate" }, 429),
    outage: submitted("an outage", undefined, "unclear", 502),
    withoutId: submitted("an error with HTTP 200", { ...broken, taskId: "" }, "unclear"),
    others: [],
  },
  polls: {
    success: poll("a success", success, completed([url])),
    noOutput: poll("a success without output", inState("SUCCESS"), NO_OUTPUT),
    moderation: poll(
      "a stop by moderation",
      moderated,
      failed("moderation", "Content safety check failed"),
    ),
    failure: poll("a failure", broken, failed("provider", "Task failed")),
    running: poll("a task at work", inState("RUNNING"), PROCESSING),
    unknownState: poll("an unknown state", inState("WARMING"), null),
    others: [poll("a task in the queue", inState("QUEUED"), QUEUED)],
  },
};
