import type { RouteDescription } from "../http/route.openapi.ts";

export const readJobDescription = {
  audience: "client",
  summary: "Read a job at its upstream, as its SDK does",
  details:
    "The path is the one at which the upstream's own API reads a job, such as `/v1/predictions/{id}` of Replicate. The relay answers with the upstream's own answer, for the operator and for the account that has submitted the job through the relay, so that an SDK that waits for its job needs another base URL only. The upstream is asked at each path of a job at most once in the time that it demands between two polls; within it, and where the connection has no polls left, the last answer is repeated. Links to the upstream's own API about the job lead to the relay. Where the upstream has a stream of the states of a job, e.g. `/status/stream` of fal, the relay sends each new answer as a server-sent event, until the job has ended or an hour has passed. Where the upstream answers a `GET` with an output of the job, such as `/v1/videos/{id}/content`, the relay sends its copy, redirects to a link that everybody can open, or passes on what the upstream sends, with `Range`. A `GET` with which an SDK looks something up beside its jobs, such as `/v1/models/{owner}/{name}/versions/{id}` of Replicate, is passed on for operators, and for accounts with an offer of the connection (else 403); it counts as a submission does, and costs nothing. Errors of the relay about the job have the form of the upstream: 404 for a job that was not submitted here by the caller and for a path that reads no job, 429 with `Retry-After` while the upstream permits no request and there is no answer to repeat, 410 for an account whose task was refunded although the job may have an output, 503 in place of an answer about the balance or key of the operator, 504 when the upstream does not answer.",
  request: { headers: ["Relay-Key", "Range"] },
  answers: {},
  passedAnswer: {
    description: "Answer of the upstream, with its status and body.",
    example: { id: "cgt-20261121120000-abcde", status: "running" },
  },
  problems: ["not_found"],
} as const satisfies RouteDescription;
