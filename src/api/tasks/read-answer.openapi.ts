import { emptyAnswer, jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { OPEN_TASK } from "../shapes/task-shape.openapi.ts";
import { Task } from "../shapes/task-shape.ts";

export const readAnswerDescription = {
  audience: "client",
  summary: "Read the upstream's own answer to a submission",
  details:
    "For the operator, and the account that has submitted the job. Once the task has ended, the answer has the upstream's status (200 for its 202), content type and body, a refusal included. In the JSON of a call that was made with `Prefer: respond-async`, the links of `output.urls` stand where the files were: `url` in place of `b64_json`, `fileData` in place of `inlineData`, and a link in place of a `data:` URL. Other answers are kept if they have at most 2 KB. An account whose call was refused because of the operator's key or balance at the upstream gets `task_failed`.",
  request: {
    headers: ["Prefer"],
    query: {
      wait: {
        description: "Seconds to wait for the end of the task; more than 60 counts as 60.",
        integer: { min: 0 },
      },
    },
  },
  answers: {
    202: jsonAnswer("the task, which has not ended", Task, OPEN_TASK, { "Retry-After": "always" }),
    302: emptyAnswer("the link of the output that the answer is, e.g. of speech", {
      Location: "always",
    }),
  },
  passedAnswer: {
    description: "Answer of the upstream, with its status and body, and links in place of files.",
    example: {
      created: 1767225660,
      data: [
        {
          url: "https://relay.example.com/outputs/6f9619ff-8b86-4d01-b42d-00cf4fc964ff/1/1769817660_1767225600000_h8Yp….png",
        },
      ],
      usage: { total_tokens: 4210 },
    },
  },
  problems: ["unknown_task", "not_found", "output_gone", "task_failed"],
} as const satisfies RouteDescription;
